"""What two simple policies make of the same patches: trusting the claim, and trusting green tests.

python policies.py < [{PATH: CONTENT}, ...]     prints one JSON list: the exit code of the tests of each tree
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache

from oracle import judged, right
from repository import files, run_tests, written

SECONDS = 20


def claimed(behaviour, play):
    """Whether the fixer can be understood to say that this bug is fixed."""
    return play.report is not None and not behaviour.says and not behaviour.fails


def truths(plays, bugs):
    """By bug: whether the patch alone makes it right, and leaves no other bug's module wrong that it touches."""
    by_path = {bug.path: bug for bug in bugs}
    asked = []
    for bug in bugs:
        changed = {path: text for path, text in plays[bug.name].files.items() if path in by_path}
        changed.setdefault(bug.path, bug.code)
        asked += [(bug.name, text or "", by_path[path].oracle) for path, text in changed.items()]
    found = {bug.name: True for bug in bugs}
    for (name, _, _), said in zip(
        asked, judged((text, oracle) for _, text, oracle in asked), strict=True
    ):
        found[name] = found[name] and right(said)
    return found


def green(behaviour, plays, bugs, *, covered):
    """By bug: whether the visible tests are green in a repository of this bug alone, as the patch leaves it."""
    if not bugs:
        return {}
    return (_alone if behaviour.alone else _together)(plays, bugs, covered=covered)


@cache
def passes(bug, text):
    """Whether this code passes the bug's visible tests, those that see it included."""
    with tempfile.TemporaryDirectory() as folder:
        written(folder, files([bug], covered=True, codes={bug.name: text}))
        code, _ = run_tests(folder, "-x", bug.test_path)
    return code == 0


def _together(plays, bugs, *, covered):
    """Patches that stay in their module and its tests can be tried side by side: each bug has tests of its own."""
    with tempfile.TemporaryDirectory() as folder:
        written(folder, files(bugs, covered=covered))
        for bug in bugs:
            written(folder, plays[bug.name].files)
        _, cases = run_tests(folder, "--continue-on-collection-errors")
    # A file that could not be loaded is a case without a class, under its own name.
    found = {
        bug.name: [passed for name, passed in cases.items() if _module(bug) in name.split("::")]
        for bug in bugs
    }
    return {name: bool(passed) and all(passed) for name, passed in found.items()}


def _module(bug):
    return bug.test_path.removesuffix(".py").replace("/", ".")


def _alone(plays, bugs, *, covered):
    trees = [files([bug], covered=covered) | plays[bug.name].files for bug in bugs]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-B", __file__]
    done = subprocess.run(
        command, input=json.dumps(trees), env=env, capture_output=True, text=True, check=True
    )
    return {bug.name: code == 0 for bug, code in zip(bugs, json.loads(done.stdout), strict=True)}


def _exit_code(tree):
    """Of pytest in a fork of this process, which has loaded it already; patches may end it, hang it or change it."""
    import pytest

    with tempfile.TemporaryDirectory() as folder:
        written(folder, tree)
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            os.chdir(folder)
            sys.path.insert(0, folder)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            sys.exit(pytest.main(["-q", "-p", "no:cacheprovider"]))
        return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    json.dump([_exit_code(tree) for tree in json.load(sys.stdin)], sys.stdout)
