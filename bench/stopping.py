"""Seconds from SIGTERM to the end of a command: while it reads a large report, while an analyzer hangs, while an agent is busy.

python bench/stopping.py [--turns N] [--megabytes N]
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_GOAL = 5.0
_SIGN = "begun"
_BARE = "a sleeping Python"
_RESULT = (
    b'{"ruleId":"X%d","message":{"text":"message number %d"},"locations":[{"physicalLocation":'
    b'{"artifactLocation":{"uri":"a.py"},"region":{"startLine":%d}}}]}'
)


class World:
    """A repository, a state folder, and programs that never end."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.report = folder / "report.sarif"
        self.repository.mkdir()
        lines = "\n".join(f"x{number} = {number}" for number in range(1000))
        (self.repository / "a.py").write_text(f"{lines}\n")
        self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", "--all")
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        self._git(*who, "commit", "--quiet", "--message", "first")
        _write_report(self.report, megabytes)
        finding = {"path": "a.py", "line": 2, "title": "a wrong number", "severity": "critical"}
        (folder / "finding.json").write_text(json.dumps([finding]))

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.repository, check=True)

    def environment(self, state: Path, settings: str) -> dict[str, str]:
        own = state / "settings.toml"
        own.write_text(settings)
        return {**os.environ, "PUNCHLIST_HOME": str(state), "PUNCHLIST_CONFIG": str(own)}


def _write_report(path: Path, megabytes: int) -> None:
    results, size, number = [], 0, 0
    while size < megabytes << 20:
        results.append(_RESULT % (number % 50, number, number % 900 + 1))
        size += len(results[-1]) + 1
        number += 1
    head = b'{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":['
    path.write_bytes(head + b",".join(results) + b"]}]}")


def _list_cases(world: World) -> dict[str, tuple[list[str], str, str]]:
    """Return by name: the words after `punchlist`, the settings, and the words of its output after which it is stopped."""
    endless = json.dumps(["/bin/sh", "-c", "while :; do :; done"])
    run = ["run", "--all", "--no-checks"]
    none = ["--set", "analyzers.enabled=ruff"]
    tool = f'[[analyzers.custom]]\nname = "hangs"\ncommand = {endless}\nformat = "sarif"\n'
    agent = f'[agents]\nuse = ["busy"]\n[agent.busy]\nkind = "command"\ncommand = {endless}\n'
    return {
        "intake of a large report": ([*run, *none, "--findings", str(world.report)], "", "start "),
        "review, an analyzer hangs": (["review", "--all"], tool, "start "),
        "fix, the agent is busy": (
            [*run, *none, "--findings", str(world.folder / "finding.json")],
            agent,
            "consolidate|running|plan",
        ),
    }


@contextmanager
def _start(line: list[str], **options: object) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,  # type: ignore[call-overload]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def measure_bare() -> float:
    program = f"import time; print('{_SIGN}', flush=True); time.sleep(600)"
    with _start([sys.executable, "-c", program]) as process:
        return _stop(process, _SIGN, 0)


def measure_case(world: World, words: list[str], settings: str, sign: str, pause: float) -> float:
    with tempfile.TemporaryDirectory(dir=world.folder) as state:
        env = world.environment(Path(state), settings)
        line = [sys.executable, "-m", "punchlist", *words]
        with _start(line, cwd=world.repository, env=env) as process:
            return _stop(process, sign, pause)


def _stop(process: "subprocess.Popen[str]", sign: str, pause: float) -> float:
    """Return the seconds from SIGTERM, sent so long after the sign, to the end."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if any(word in line for word in sign.split("|")):
            break
    else:
        raise SystemExit("it ended by itself:\n" + "".join(said))
    time.sleep(pause)
    if process.poll() is not None:
        raise SystemExit("it ended by itself:\n" + "".join(said) + process.stdout.read())
    began = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=600)
    return time.perf_counter() - began


def main(turns: int, megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        world = World(Path(made), megabytes)
        cases = _list_cases(world)
        times: dict[str, list[float]] = {_BARE: [], **{name: [] for name in cases}}
        for turn in range(turns):
            times[_BARE].append(measure_bare())
            for name, (words, settings, sign) in cases.items():
                times[name].append(measure_case(world, words, settings, sign, 1 + turn))
    print(f"SIGTERM to the end, in seconds; the report has {megabytes} MB; {turns} turns")
    print(f"{'stopped in':28} {'best':>7} {'median':>7} {'worst':>7}")
    for name, taken in times.items():
        print(f"{name:28} {min(taken):7.3f} {statistics.median(taken):7.3f} {max(taken):7.3f}")
    worst = max(max(taken) for taken in times.values())
    verdict = "met" if worst < _GOAL else "NOT met"
    print(f"the goal is under {_GOAL:g} s: {verdict} ({worst:.1f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=60)
    options = parser.parse_args()
    main(options.turns, options.megabytes)
