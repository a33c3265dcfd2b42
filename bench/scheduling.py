"""How close fixing in parallel comes to what the work allows: simulated agents, real work trees, real integration.

The lower bound is what no schedule can beat: all the work over the agents at a time, or the file with most work, whichever is
more (what shares a file is not done at the same time). Beside it: the same work in steps with barriers, as plans with parallel
and serial steps do it, run by the same engine through a planner that puts every step after the whole one before it.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import start_run
from punchlist.model.item.item import Status
from punchlist.model.ledger.events import Committed, Planned

LINES = 200
WORKFLOW = """about: only fixing and landing, so that nothing else is timed
steps:
  - review: {analyzers: false}
  - consolidate: {rule: exact}
  - plan: {group: item, planner: %s}
  - fix: {mode: fan-out}
  - verify: {}
  - commit: {needs: claim}
  - report: {file: none}
"""


class Clock:
    """Watches for when the plan is there and when everything has landed."""

    def __init__(self) -> None:
        self.begun = self.landed = 0.0

    def handle_start(self, place, action): ...

    def handle_output(self, label, piece): ...

    def handle_event(self, entry, run):
        match entry.event:
            case Planned():
                self.begun = time.monotonic()
            case Committed():
                self.landed = time.monotonic()


def work(count: int, files: int, seconds: float, seed: int) -> list[tuple[int, str, int, float]]:
    """Items with a file, a line and the time their fix takes; few files have many of them."""
    luck = random.Random(seed)
    weights = [1 / (n + 1) for n in range(files)]
    found = []
    used: dict[str, int] = defaultdict(int)
    for number in range(1, count + 1):
        path = f"module_{luck.choices(range(files), weights)[0]:02}.py"
        used[path] += 1
        found.append((number, path, used[path] * 6, seconds * luck.lognormvariate(0, 0.5)))
    return found


def bound(items, width: int) -> float:
    load: dict[str, float] = defaultdict(float)
    for _, path, _, seconds in items:
        load[path] += seconds
    return max(sum(load.values()) / width, *load.values())


def steps(items) -> dict[int, int]:
    """The step of each item in a plan with barriers: what shares a file comes one step later."""
    seen: dict[str, int] = defaultdict(int)
    found = {}
    for number, path, _, _ in items:
        seen[path] += 1
        found[number] = seen[path]
    return found


def barriers(items, width: int) -> float:
    """What the steps alone cost, on paper: each lasts as long as its own best packing."""
    by_step: dict[int, list[float]] = defaultdict(list)
    for number, step in steps(items).items():
        by_step[step].append(next(seconds for n, _, _, seconds in items if n == number))
    total = 0.0
    for lengths in by_step.values():
        busy = [0.0] * width
        for seconds in sorted(lengths, reverse=True):
            busy[busy.index(min(busy))] += seconds
        total += max(busy)
    return total


def place(folder: Path, items, width: int, *, barrier: bool) -> Path:
    """A repository, a script for the agents, settings, findings and a workflow."""
    repo = folder / "repo"
    repo.mkdir(parents=True)
    for path in sorted({path for _, path, _, _ in items}):
        (repo / path).write_text("".join(f"value_{n} = {n}\n" for n in range(1, LINES + 1)))
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "base"],
    ):
        subprocess.run(["git", *command], cwd=repo, check=True)
    lines = []
    for number, path, line, seconds in items:
        edit = {
            "path": path,
            "replace": f"value_{line} = {line}\n",
            "with": f"value_{line} = {line + 1}\n",
        }
        lines.append(
            {
                "role": "fixer",
                "prompt": f"fault {number:03} ",
                "seconds": seconds,
                "fixes": [{"edits": [edit]}],
            }
        )
    if barrier:
        at = steps(items)
        order = sorted(
            items, key=lambda item: (item[1], item[2])
        )  # equally severe: items are numbered by file and line
        code = {item[0]: f"F{rank:03}" for rank, item in enumerate(order, 1)}
        issues = [
            {
                "issue_code": code[n],
                "steps": ["change the line"],
                "after": [code[m] for m in at if at[m] == at[n] - 1],
            }
            for n in at
        ]
        lines.append({"role": "planner", "answer": {"issues": issues}})
    (folder / "script.json").write_text(json.dumps(lines))
    found = [
        {
            "title": f"fault {number:03} of the bench",
            "file": path,
            "line": line,
            "severity": "major",
            "category": f"c{number}",
        }
        for number, path, line, _ in items
    ]
    (folder / "findings.json").write_text(json.dumps(found))
    (folder / "workflow.yaml").write_text(WORKFLOW % str(barrier).lower())
    (folder / "settings.toml").write_text(
        f'detect-checks = false\n[agents]\nuse = ["robot"]\n[agent.robot]\nkind = "scripted"\nscript = "{folder}/script.json"\n[limits]\nwidth = {width}\n'
    )
    return repo


def run(items, width: int, *, barrier: bool) -> float:
    with tempfile.TemporaryDirectory(prefix="punchlist-bench-") as name:
        folder = Path(name)
        repo = place(folder, items, width, barrier=barrier)
        os.environ["PUNCHLIST_HOME"] = str(folder / "state")
        os.environ["PUNCHLIST_CONFIG"] = str(folder / "settings.toml")
        clock = Clock()

        async def drive():
            with contextlib.closing(await Session.open(repo)) as app:
                asked = Request(
                    workflow=str(folder / "workflow.yaml"),
                    findings=(str(folder / "findings.json"),),
                )
                return await start_run(app, await prepare_run(app, asked), clock)

        done = asyncio.run(drive())
        fixed = len(done.find_items(Status.FIXED))
        assert fixed == len(items), f"{fixed} of {len(items)} landed: {done.trouble}"
        return clock.landed - clock.begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=32)
    parser.add_argument("--files", type=int, default=24)
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="median time of one agent call; real ones take minutes",
    )
    parser.add_argument("--width", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    items = work(chosen.items, chosen.files, chosen.seconds, chosen.seed)
    print(
        f"{len(items)} items in {len({path for _, path, _, _ in items})} files, {sum(s for *_, s in items):.0f} s of agents' time, Python {sys.version.split()[0]}\n"
    )
    print(
        "| agents at a time | lower bound | no barriers | over the bound | steps with barriers | over the bound | barriers on paper |"
    )
    print("|---|---|---|---|---|---|---|")
    for width in chosen.width:
        best = bound(items, width)
        ours, theirs = run(items, width, barrier=False), run(items, width, barrier=True)
        paper = barriers(items, width) / best
        print(
            f"| {width} | {best:.1f} s | {ours:.1f} s | {ours / best:.3f} | {theirs:.1f} s | {theirs / best:.3f} | {paper:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
