#!/usr/bin/env python3
"""Run every workflow with every real agent and a model on loopback that plays seven kinds of fixers; print what came of it.

    python tools/agent_matrix.py [--agents codex,claude] [--workflows verified] [--behaviours honest,silent] [--results FILE]

No key is used. Results are kept in FILE, one JSON line a cell; cells that are there are not run again, so that an hour of
work can be done in parts. The exit code is 1 if a finding was lost, a fix has no proof or a lie was believed.
"""

import argparse
import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "adapters" / "agents")]

matrix = import_module("matrix")
Repo = import_module("conftest").Repo
Cell = matrix.Cell
CHOICES = {
    "agents": tuple(matrix.AGENTS),
    "workflows": tuple(matrix.WORKFLOWS),
    "behaviours": tuple(matrix.BEHAVIOURS),
}


def main() -> int:
    chosen = _parse_arguments()
    _isolate()
    wanted = [Cell(*each) for each in product(chosen.agents, chosen.workflows, chosen.behaviours)]
    known = _read(chosen.results)
    missing = [cell for cell in wanted if cell not in known]
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for outcome in pool.map(_play_apart, missing):
            cell = Cell(*(outcome[name] for name in Cell._fields))
            print(f"{' '.join(cell):45} {_tell(outcome)}", file=sys.stderr, flush=True)
            if "failed" not in outcome:
                known[cell] = outcome
                with chosen.results.open("a") as file:
                    file.write(json.dumps(outcome) + "\n")
    _print_table(chosen, known)
    done = [known[cell] for cell in wanted if cell in known]
    return int(len(done) < len(wanted) or any(map(matrix.find_faults, done)))


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, every in CHOICES.items():
        parser.add_argument(f"--{name}", default=",".join(every), help="separated by commas")
    parser.add_argument("--results", type=Path, default=Path("agent-matrix.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    for name, every in CHOICES.items():
        given = getattr(chosen, name).split(",")
        if unknown := set(given) - set(every):
            parser.error(f"--{name}: {', '.join(sorted(unknown))}; there are {', '.join(every)}")
        setattr(chosen, name, given)
    return chosen


def _isolate() -> None:
    """Leave nothing of the user's configuration to git and punchlist."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "PUNCHLIST_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        os.environ |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.org"}


def _read(results: Path) -> dict[Any, dict[str, Any]]:
    lines = results.read_text().splitlines() if results.exists() else []
    outcomes = map(json.loads, lines)
    return {Cell(*(outcome[name] for name in Cell._fields)): outcome for outcome in outcomes}


def _play_apart(cell: Any) -> dict[str, Any]:
    """Run a cell in a folder of its own; what fails is told and does not stop the others."""
    with tempfile.TemporaryDirectory(
        prefix="punchlist-matrix-", ignore_cleanup_errors=True
    ) as name:
        try:
            return matrix.play(cell, Repo(Path(name) / "repo"), Path(name))
        except BaseException as error:  # a missing agent ends a test with an exception of pytest's
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            return {**cell._asdict(), "failed": f"{type(error).__name__}: {str(error)[-400:]}"}


def _tell(outcome: dict[str, Any]) -> str:
    return outcome.get("failed") or f"{matrix.describe(outcome)} ({outcome['seconds']} s)"


def _print_table(chosen: argparse.Namespace, known: dict[Any, dict[str, Any]]) -> None:
    """Print a row for each workflow and behaviour; agents with the same outcome share a cell."""
    print("| workflow | the fixer | what came of it |\n|---|---|---|")
    for workflow, behaviour in product(chosen.workflows, chosen.behaviours):
        ends: dict[str, list[str]] = {}
        for agent in chosen.agents:
            if outcome := known.get(Cell(agent, workflow, behaviour)):
                ends.setdefault(matrix.describe(outcome), []).append(agent)
        told = "; ".join(f"{', '.join(agents)}: {end}" for end, agents in ends.items())
        print(f"| `{workflow}` | {behaviour} | {told or 'not run'} |")


if __name__ == "__main__":
    sys.exit(main())
