"""What two simple policies make of the same patches: trusting the claim, and trusting green tests.

python policies.py < [{PATH: CONTENT}, ...]     prints one JSON list: the exit code of the tests of each tree
"""

import json
import os
import signal
import subprocess
import sys
import tempfile

from oracle import judged, right
from repository import files, written

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
    for (name, _, _), said in zip(asked, judged((text, oracle) for _, text, oracle in asked), strict=True):
        found[name] = found[name] and right(said)
    return found


def green(plays, bugs, *, covered):
    """By bug: whether the visible tests exit with 0 in a repository of this bug alone, as the patch leaves it."""
    if not bugs:
        return {}
    trees = [files([bug], covered=covered) | plays[bug.name].files for bug in bugs]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-B", __file__]
    done = subprocess.run(command, input=json.dumps(trees), env=env, capture_output=True, text=True, check=True)
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
