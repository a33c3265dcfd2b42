"""The tests of the fix engine, in which a test plays the agent, execute nearly all of its lines."""

import dis
import json
import os
import subprocess
import sys
from pathlib import Path
from types import CodeType

from punchlist.library import fix_engine

ROOT = Path(__file__).parents[2]
WATCHER = """
import atexit, json, os, sys, threading

lines = {name: set() for name in json.loads(os.environ["WATCHED"])}

def enter(frame, event, _):
    seen = lines.get(frame.f_code.co_filename)
    if seen is None:
        return None
    def step(frame, event, _):
        seen.add(frame.f_lineno)
        return step
    return step(frame, event, _)

def write():
    sys.settrace(None)
    with open(os.environ["SEEN"], "w") as file:
        json.dump({name: sorted(seen) for name, seen in lines.items()}, file)

sys.settrace(enter)
threading.settrace(enter)
atexit.register(write)
"""


def list_lines(code: CodeType) -> set[int]:
    """The lines of a module that can be executed."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = {line for _, line in dis.findlinestarts(code) if line}
    return own.union(*map(list_lines, inner))


def test_a_played_agent_covers_at_least_85_per_cent(tmp_path):
    (tmp_path / "watcher.py").write_text(WATCHER)
    engine = sorted(Path(fix_engine.__file__).parent.glob("fix_*.py"))
    watched, seen = json.dumps([str(path) for path in engine]), tmp_path / "seen.json"
    paths = os.pathsep.join((str(tmp_path), str(ROOT / "src")))
    told = {"PYTHONPATH": paths, "WATCHED": watched, "SEEN": str(seen)}
    tests = str(Path(__file__).with_name("test_fix_engine.py"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "watcher", "-p", "no:cacheprovider", tests],
        cwd=ROOT,
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]
    executed = json.loads(seen.read_text())
    there = {str(path): list_lines(compile(path.read_text(), path, "exec")) for path in engine}
    missed = {name: sorted(lines - set(executed[name])) for name, lines in there.items()}
    share = 1 - sum(map(len, missed.values())) / sum(map(len, there.values()))
    assert share >= 0.85, missed
