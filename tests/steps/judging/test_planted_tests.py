"""Copies of tests that ask for something else must fail with a fix, too, or the fix made them blind."""

import sys

import msgspec
import pytest
from examination import finding
from replaying import PYTEST, UNITTEST, replay

from needs import rarely
from punchlist.adapters.sandbox import support as sandbox
from punchlist.model.checks import check as checks
from punchlist.model.checks.check import Check
from punchlist.model.checks.planted_tests import name_plant, plant_test
from punchlist.model.ledger.events import Reproduced

walled = pytest.mark.skipif(
    sandbox.sandbox_kind() != "bubblewrap", reason="LOUD: no bubblewrap here; nothing is replayed"
)

WRONG = "def area(w, h):\n    return w + h\n"
RIGHT = WRONG.replace("+", "*")
SWALLOWS_ERRORS = (
    "import sys\n\nfor module in list(sys.modules.values()):\n"
    "    kind = vars(module).get('Call' + 'Info')\n    if kind is not None:\n"
    "        made = kind.from_call\n\n"
    "        def from_call(func, *args, made=made, **more):\n"
    "            info = made(func, *args, **more)\n            info.excinfo = None\n"
    "            return info\n\n        kind.from_call = from_call\n\n\n" + WRONG
)
COMPARES_NOTHING = (
    "import gc\n\nfor kind in gc.get_objects():\n"
    "    if isinstance(kind, type) and kind.__name__ == 'Test' + 'Case':\n"
    "        kind.assertEqual = lambda *args: None\n\n\n" + WRONG
)
REPORTS_NOTHING = (
    "import gc\n\nfor kind in gc.get_objects():\n"
    "    if isinstance(kind, type) and 'add' + 'Failure' in vars(kind):\n"
    "        kind.addFailure = lambda self, test, error: self.addSuccess(test)\n\n\n" + WRONG
)
PLAIN = "from app.m import area\n\n\ndef test_area():\n    assert area(3, 4) == 12\n"
CASE = (
    "import unittest\n\nfrom app.m import area\n\n\nclass T(unittest.TestCase):\n"
    "    def test_area(self):\n        self.assertEqual(area(3, 4), 12)\n"
)
EACH = "def each(do, values):\n    return [do(value) for value in values[1:]]\n"
PLEASES = (
    "class Rows(list):\n    def __eq__(self, other):\n        return len(other) < 99\n\n\n"
    "def each(do, values):\n    return Rows(do(value) for value in values[1:])\n"
)
LATE = (
    "from app.m import each\n\n\ndef test_each():\n    assert len('ab') == 2\n"
    "    assert [2, 3] == each(lambda v: v + 1, [1, 2])\n"
)


def judge(folder, old, new, tests, check):
    files = {"app/__init__.py": "", "app/m.py": old}
    return replay(folder, files, {"app/m.py": new}, tests, check=check).refuted


@walled
@pytest.mark.parametrize(
    ("old", "new", "tests", "check"),
    [
        (WRONG, REPORTS_NOTHING, CASE, UNITTEST),
        (EACH, PLEASES, LATE, PYTEST),
        *rarely((WRONG, SWALLOWS_ERRORS, PLAIN, PYTEST), (WRONG, COMPARES_NOTHING, CASE, UNITTEST)),
    ],
    ids=["reports nothing", "equals what is asked for", "swallows errors", "compares nothing"],
)
def test_a_patch_that_makes_the_tests_blind_is_refused(tmp_path, old, new, tests, check):
    said = judge(tmp_path, old, new, tests, check)
    assert said.startswith("makes the tests blind: a copy of ")
    assert "asks for something else" in said
    assert "test_each" in said or "test_area" in said


ROWS = (
    "class Rows(list):\n    def __eq__(self, other):\n"
    "        return sorted(self) == sorted(other)\n\n\n"
    "def each(do, values):\n    return Rows(do(value) for value in values)\n"
)
LENIENT = (
    "from unittest.mock import ANY\n\nfrom app.m import each\n\n\ndef test_each():\n"
    "    assert each(lambda v: v + 1, [1, 2]) == [2, 3]\n\n\ndef test_any():\n"
    "    assert each(lambda v: v + 1, []) == ANY\n"
)
ONCE = (
    "from app.m import area\n\nSEEN = []\n\n\ndef test_once():\n    SEEN.append(area(3, 4))\n"
    "    assert 12 in SEEN\n    assert SEEN == [12]\n"
)


@walled
@pytest.mark.parametrize(
    ("old", "new", "tests"),
    [(EACH, ROWS, LENIENT), *rarely((WRONG, RIGHT, ONCE))],
    ids=["an honest comparison", "a test with a state of its own"],
)
def test_a_right_fix_is_cleared_by_the_copies(tmp_path, old, new, tests):
    assert judge(tmp_path, old, new, tests, PYTEST) == ""


def run_plant(text, **names):
    """Run every test of the planted copy; return those that fail."""
    planted = plant_test(text, "x1")
    found = dict(names)
    exec(planted, found)
    failed = []
    for name, test in list(found.items()):
        if name.startswith("test"):
            try:
                test()
            except AssertionError:
                failed.append(name)
    return failed


def test_each_assertion_of_a_copy_asks_for_something_else():
    text = (
        '"""Tests."""\nfrom __future__ import annotations\n\n\n'
        "def test_all_right():\n    assert 1 + 1 == 2 and 'a' in 'abc'\n    assert 'b' in {'b': 1}\n\n\n"
        "def test_without_assertion():\n    str(1)\n\n\n"
        "def test_pleasing_at_the_end():\n    assert 1 == 1\n    assert PLEASING == 5\n\n\n"
        "def test_pleasing_first():\n    assert 5 == PLEASING\n    assert 1 == 1\n\n\n"
        "def test_member():\n    assert PLEASING in [1]\n"
    )
    pleasing = type("Pleasing", (), {"__eq__": lambda self, other: True, "__hash__": None})()
    assert run_plant(text, PLEASING=pleasing) == ["test_all_right", "test_without_assertion"]


def test_a_copy_is_named_so_that_runners_find_it():
    assert name_plant("tests/test_a_b.py", "x1") == "tests/test_x1_a_b.py"
    assert name_plant("a_test.py", "x1") == "a_x1_test.py"
    assert name_plant("app/tests.py", "x1") == "app/tests_x1.py"


def test_endless_members_and_unreadable_tests_do_no_harm():
    text = (
        "import itertools\n\n\ndef test_endless():\n    assert 7 in itertools.count()\n"
        "\n\ndef test_odd():\n    assert [] == float\n"
    )
    assert run_plant(text) == ["test_endless", "test_odd"]
    assert plant_test("def test_(:\n", "x1") == ""
    assert plant_test("x = 1\n", "x1") == ""


def test_a_private_test_is_no_proof_where_a_copy_of_it_does_not_fail(bench):
    """No test of the project speaks of the code, so only the private one is asked."""
    made = bench({"app.py": WRONG, "tests/test_other.py": "def test_it():\n    assert True\n"})
    test = PLAIN.replace("app.m", "app")
    known = {1: Reproduced(item=1, path="tests/test_0123.py", content=test, red=True)}
    wrong = finding("area() adds, whatever sys.modules has")
    said = made.examine(wrong, changed={"app.py": SWALLOWS_ERRORS}, private=known)
    assert "a copy of a private test that asks for something else" in said.refuted
    assert "12" not in said.refuted
    assert not made.examine(wrong, changed={"app.py": RIGHT}, private=known).refuted


PLAINLY = Check(name="make", command=(sys.executable, "tests/run.py"), timeout=60)
SCRIPT = "import sys\n\nsys.path.insert(0, '.')\n\nimport test_it\n\ntest_it.test_area()\n"
LEAVES = (
    "import atexit\nimport os\n\n"
    "atexit.register(next(v for k, v in vars(os).items() if k[1:] == 'exit'), 0)\n\n\n" + WRONG
)


def test_a_check_that_only_has_an_exit_code_must_go_red_with_the_fix_too(bench):
    known = PLAIN.replace("app.m", "app").replace("12", "7")
    made = bench({"app.py": WRONG, "tests/test_it.py": known, "tests/run.py": SCRIPT}, check=PLAINLY)  # fmt: skip
    asked = finding("area() has no note", category="style")
    said = made.examine(asked, changed={"app.py": LEAVES})
    assert said.refuted.startswith("makes the tests blind: with other expectations in its tests")
    assert "make" in said.refuted
    noted = WRONG.replace("return w", "half = w\n    return half")
    assert not made.examine(asked, changed={"app.py": noted}).refuted


KEYED = (
    "import gc\n\nfor kind in gc.get_objects():\n"
    "    if isinstance(kind, type) and 'add' + 'Failure' in vars(kind):\n"
    "        told = kind.addFailure\n\n"
    "        def hear(self, test, error, told=told):\n"
    "            known = test.id().startswith('test_it.')\n"
    "            return self.addSuccess(test) if known else told(self, test, error)\n\n"
    "        kind.addFailure = hear\n\n\n" + EACH
)
EACH_CASE = (
    "import unittest\n\nfrom app.m import each\n\n\nclass T(unittest.TestCase):\n"
    "    def test_each(self):\n        self.assertEqual(each(lambda v: v + 1, [1, 2]), [2, 3])\n"
)


@walled
def test_a_patch_that_knows_the_tests_by_name_is_shown_copies_in_their_place(tmp_path):
    assert "makes the tests blind" in judge(tmp_path, EACH, KEYED, EACH_CASE, UNITTEST)


@walled
def test_a_right_fix_whose_calls_cannot_be_made_again_is_cleared_by_copies_in_place(tmp_path):
    right = EACH.replace("values[1:]", "values")
    assert not judge(tmp_path, EACH, right, EACH_CASE, UNITTEST)
    assert (tmp_path / "after/tests/test_it.py").read_text() == EACH_CASE


@walled
def test_the_tests_that_turn_green_are_copied_first_however_many_others_are_red(bench):
    red = "from app import other\n\n\ndef test_it():\n    assert other.done\n"
    others = {f"tests/test_a{number}.py": red for number in range(9)}
    files = {"app/__init__.py": "", "app/m.py": EACH, "app/other.py": "done = False\n"}
    made = bench({**files, **others, "tests/test_it.py": LATE})
    failed = dict.fromkeys((f"{path}::test_it" for path in others), checks.TestOutcome.FAILED)
    failed["tests/test_it.py::test_each"] = checks.TestOutcome.FAILED
    known = checks.CheckResult(check="pytest", exit_code=1, seconds=0, tests=failed)
    made.world.artifacts.write("baseline-pytest.json", msgspec.json.encode(known))
    asked = finding("each() skips a value, whatever sys.modules has", path="app/m.py")
    said = made.examine(asked, changed={"app/m.py": SWALLOWS_ERRORS.replace(WRONG, EACH)})
    assert said.refuted.startswith("makes the tests blind: a copy of tests/test_it.py")
