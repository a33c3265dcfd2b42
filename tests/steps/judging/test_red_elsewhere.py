"""Red tests that speak of a finding and fail for another reason: they are named, and decide nothing."""

import asyncio

import msgspec
import pytest
from examination import finding
from replaying import PYTEST, UNITTEST

from needs import rarely
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Checking
from punchlist.steps.judging.red_tests import find_contradictions, rerun_red_tests

APP = "def mean(values):\n    return sum(values) / len(values)\n\n\ndef save(path):\n    return path\n"
FIXED = APP.replace("len(values)\n", "len(values) if values else 0\n")
FILES = {"app.py": APP, "report.py": "def title():\n    return 'Raport'\n"}
HEAD = "import unittest\nfrom app import mean, save\nimport report\n\n\nclass Known(unittest.TestCase):\n"
EMPTY = "    def test_empty(self):\n        self.assertEqual(mean([]), 0)\n\n"
MEAN = finding("mean() of an empty list crashes")
REASONS = {
    "network": (
        "import socket; mean([1]); socket.create_connection(('nowhere.invalid', 80))",
        "the network cannot be reached from here",
    ),
    "module": ("mean([1]); import no_such_module", "a module is not installed"),
    "data": ("mean([1]); open('tests/data/rows.json')", "a file of the tests is missing"),
    "program": (
        "import subprocess; mean([1]); subprocess.run(['no-such-program'])",
        "a program is not installed",
    ),
    "another module": (
        "self.assertEqual(report.title(), 'Report'); self.assertEqual(mean([]), 0)",
        "it fails before any function of app.py is called",
    ),
}
COUNTS = {
    "a file that the code should have written": "save('out.txt'); mean([1]); open('out.txt')",
    "what another module makes of it": "self.assertEqual(report.title() + str(mean([2])), 'Report 2')",
}


@pytest.fixture
def red(bench):
    """What is said of the fix, and of no fix at all, beside a test with these statements."""

    def told(body, check=UNITTEST, item=MEAN, empty=EMPTY):
        tests = f"{HEAD}{empty}    def test_other(self):\n        {body}\n"
        made = bench({**FILES, "tests/test_app.py": tests}, check=check, compare=False)
        world = made.world

        async def judge(run):
            async with world.trees.open_tree(made.tip) as tree:
                known = await world.checks.run(check, tree)
            world.artifacts.write(f"baseline-{check.name}.json", msgspec.json.encode(known))
            failed = Baselined(check=check.name, failed=2, judges=(".py",))
            run = msgspec.structs.replace(run, checks=Checking(baselines={check.name: failed}))
            items = list(run.items.values())
            cured = await rerun_red_tests(items, run.work.patches[1], run, world)
            return cured, await find_contradictions(items, run, world)

        return asyncio.run(judge(made.run(item, changed={"app.py": FIXED})))

    return told


@pytest.mark.parametrize(
    "name", ["network", "another module", *rarely("module", "data", "program")]
)
def test_a_test_that_is_red_for_another_reason_makes_no_fix_partial_and_is_named(red, name):
    body, why = REASONS[name]
    said, contradicted = red(body)
    assert (said.stays, said.partial, list(said.proofs)) == ("", {}, [1])
    (note,) = said.noted
    assert note == f"test_app.Known.test_other is red for another reason: {why}"
    assert "test_other" not in contradicted[1]


def test_pytest_says_the_same(red):
    body, why = REASONS["module"]
    said, contradicted = red(body, check=PYTEST, empty="")
    assert (said.stays, said.partial, said.proofs, contradicted) == ("", {}, {}, {})
    assert said.noted == (f"tests/test_app.py::Known::test_other is red for another reason: {why}",)


@pytest.mark.parametrize("name", COUNTS)
def test_a_test_that_the_code_has_a_say_in_counts(red, name):
    said, _ = red(COUNTS[name])
    assert "test_other stayed red" in said.partial[1].said
    assert said.noted == ()
