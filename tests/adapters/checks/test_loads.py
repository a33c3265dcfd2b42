"""What a check loads of the tree is seen in its own Python, whoever runs the tests."""

import sys

import msgspec
import pytest
from test_check_runner import PYTEST, UNITTEST

from punchlist.model.checks.check import Check, CheckKind

FILES = {
    "app/__init__.py": "",
    "app/m.py": "def load(path):\n    return open(path).read()\n",
    "support.py": "from pathlib import Path\n\n\ndef cases():\n    return Path('cases/a.json').read_text()\n",
    "cases/a.json": "[]",
    "cases/b.json": "[]",
    "sitecustomize.py": "STARTED = True\n",
    "tests/test_m.py": (
        "import unittest\nfrom app import m\nimport sitecustomize\nimport support\n\n\n"
        "class T(unittest.TestCase):\n    def test_all(self):\n"
        "        self.assertEqual(support.cases(), m.load('cases/b.json'))\n"
        "        self.assertTrue(sitecustomize.STARTED)\n"
        "        open('written.txt', 'w').close()\n"
    ),
}
PLAIN = Check(
    name="any", command=(sys.executable, "-m", "unittest", "discover", "-s", "tests"), kind=CheckKind.PLAIN
)  # fmt: skip


@pytest.mark.parametrize("check", [PYTEST, UNITTEST, PLAIN], ids=["pytest", "unittest", "plain"])
def test_a_whole_run_tells_which_files_were_loaded_and_by_which(checked, walls, check):
    result = checked.run(check, checked.tree(FILES))
    assert (result.exit_code, result.trouble) == (0, "")
    loads = result.loads
    assert loads.files["app/m.py"] == loads.files["support.py"] == ("tests/test_m.py",)
    assert loads.files["cases/a.json"] == ("support.py",)
    assert loads.files["cases/b.json"] == ("app/m.py",)
    assert "written.txt" not in loads.files
    assert (loads.modules["app.m"], loads.modules["json"]) == ("app/m.py", "")
    assert "" in loads.roots


def test_a_limited_run_is_not_watched(checked):
    result = checked.run(PYTEST, checked.tree(FILES), only=["tests/test_m.py::T::test_all"])
    assert (result.exit_code, result.loads.files) == (0, {})


def test_a_script_that_is_the_check_is_watched_and_says_nothing_more(checked, walls):
    script = Check(name="any", command=(sys.executable, "tests/run.py"), kind=CheckKind.PLAIN)
    files = {"tests/run.py": "import json\n\njson.load(open('a.json'))\n", "a.json": "[]"}
    result = checked.run(script, checked.tree(files))
    assert (result.exit_code, result.output) == (0, "")
    assert result.loads.files["a.json"] == ("tests/run.py",)


@pytest.mark.parametrize("broken", [False, True], ids=["none", "broken"])
def test_processes_that_tests_start_print_what_they_print_without_the_watcher(
    checked, walls, broken
):
    test = (
        "import subprocess, sys\n\n\ndef test_child():\n"
        "    code = 'import sys, app.m; print(\"sitecustomize\" in sys.modules)'\n"
        "    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True)\n"
        f"    assert done.stdout == 'False\\n' and ('KeyError' in done.stderr) is {broken}\n"
    )
    files = {"app/__init__.py": "", "app/m.py": "", "tests/test_child.py": test}
    files |= {"sitecustomize.py": "{}['x']\n"} if broken else {}
    check = msgspec.structs.replace(PYTEST, command=(*PYTEST.command, "-o", "pythonpath=."))
    result = checked.run(check, checked.tree(files))
    assert (result.exit_code, result.trouble) == (0, ""), result.output
    assert "app/m.py" in result.loads.files
