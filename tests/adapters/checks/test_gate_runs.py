"""Gates over a work tree: which files they are red about, and which examples in docstrings hold."""

import sys

from punchlist.model.checks.check import Check, CheckKind
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.checks.hook_files import HookFiles

PYTEST = (sys.executable, "-m", "pytest", "--disable-plugin-autoload")
SAYS = """\
echo "./app/a.py:3:1: E501 too long" "in 'b.py'"
echo "ERROR: $PWD/c.py: not sorted (gone.py, d.pyx)"
[ -z "$PYTHONPATH" ] || echo e.py
exit %d
"""
FILES = dict.fromkeys(("app/a.py", "b.py", "c.py", "d.py", "e.py"), "")
EXAMPLES = {
    "app/__init__.py": "",
    "app/good.py": '"""\n>>> from app.plain import x\n>>> x\n1\n"""\n',
    "app/wrong.py": '"""\n>>> 1\n2\n"""\n\n\ndef right():\n    """\n    >>> 3\n    3\n    """\n',
    "app/plain.py": "x = 1  # >>> no example\n",
    "tests/test_it.py": '"""\n>>> 1\n2\n"""\n\n\ndef test_it():\n    assert False\n',
    "setup.py": '"""\n>>> 1\n"""\nraise SystemExit\n',
}


def test_a_red_gate_names_files_of_the_tree_and_no_module_of_the_tree_passes_for_it(checked, walls):
    gate = Check(name="style", command=("sh", "-c", SAYS % 1), kind=CheckKind.GATE)
    result = checked.run(gate, checked.tree(FILES))
    assert result.tests == dict.fromkeys(("app/a.py", "b.py", "c.py"), Outcome.FAILED)
    green = Check(name="style", command=("sh", "-c", SAYS % 0), kind=CheckKind.GATE)
    result = checked.run(green, checked.tree(FILES))
    assert (result.green, result.tests) == (True, {})


def test_examples_of_modules_that_are_no_tests_are_run(checked):
    check = Check(name="doctest", command=(*PYTEST, "--doctest-modules"), kind=CheckKind.DOCTEST)
    tree = checked.tree(EXAMPLES)
    good, wrong = "app/good.py::app.good", "app/wrong.py::app.wrong"
    assert checked.run(check, tree).tests == {
        good: Outcome.PASSED,
        wrong: Outcome.FAILED,
        f"{wrong}.right": Outcome.PASSED,
    }
    assert checked.run(check, tree, only=(good,)).tests == {good: Outcome.PASSED}
    none = checked.run(check, checked.tree({"tests/test_it.py": "def test_it(): pass\n"}, "none"))
    assert none.trouble == "no test was collected"


def test_a_hook_gets_the_tracked_files_that_pre_commit_gives_it_and_no_lent_environment(checked):
    (checked.checkout / ".venv").mkdir()
    (checked.checkout / ".venv/big.py").write_text("")
    given = HookFiles(excluded=("^app/old/",), suffixes=(".py",))
    echo = Check(
        name="style",
        command=("sh", "-c", 'echo "$@"; exit 1', "hook"),
        kind=CheckKind.GATE,
        given=given,
    )
    files = dict.fromkeys(("app/a.py", "app/old/b.py", "app/c.txt"), "")
    result = checked.run(echo, checked.tree(files))
    assert result.output.split() == ["app/a.py"]
    none = checked.run(echo, checked.tree({"README": ""}, "none"))
    assert (none.green, none.output) == (True, "")
