"""Tests of the project that were red before a fix: one that speaks of the finding must turn green, whatever is claimed."""

import asyncio

import msgspec
import pytest
from examination import UNITTEST, finding

from punchlist.model.checks import check as checks
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Checking
from punchlist.steps.judging.red_tests import rerun_red_tests

APP = "def mean(values):\n    return sum(values) / len(values)\n\n\ndef total(values):\n    return sum(values)\n"
FIXED = APP.replace(
    "    return sum(values) / len(values)\n",
    "    return sum(values) / len(values) if values else 0\n",
)
WRONG = APP.replace(
    "    return sum(values) / len(values)\n", "    return sum(values) / (len(values) or None)\n"
)
TESTS = (
    "import unittest\nfrom app import mean, total\n\n\nclass Known(unittest.TestCase):\n"
    "    def test_two(self):\n        self.assertEqual(mean([1, 3]), 2)\n\n"
    "    def test_empty(self):\n        self.assertEqual(mean([]), 0)\n\n"
    "    def test_total(self):\n        self.assertEqual(total([1]), 7)\n"
)
RED = ("test_app.Known.test_empty", "test_app.Known.test_total")
EMPTY = finding("mean() of an empty list crashes")


@pytest.fixture
def judged(bench):
    made = bench({"app.py": APP, "tests/test_app.py": TESTS}, check=UNITTEST, compare=False)

    def told(*findings, changed, red=RED):
        world = made.world
        outcomes = dict.fromkeys(red, checks.TestOutcome.FAILED)
        result = checks.CheckResult(check="unittest", exit_code=1, seconds=0, tests=outcomes)
        world.artifacts.write("baseline-unittest.json", msgspec.json.encode(result))
        run = made.run(*findings, changed=changed)
        known = {"unittest": Baselined(check="unittest", failed=len(red), judges=(".py",))}
        run = msgspec.structs.replace(run, checks=Checking(baselines=known))
        return asyncio.run(
            rerun_red_tests(tuple(run.items.values()), run.work.patches[1], run, world)
        ), made.checks.runs

    return told


def test_a_patch_that_leaves_the_red_test_red_is_refused_by_its_name(judged):
    said, _ = judged(EMPTY, changed={"app.py": WRONG})
    assert "still is red" in said.stays
    assert "test_empty" in said.stays
    assert "test_total" not in said.stays


def test_a_patch_that_turns_it_green_has_a_witness_nobody_wrote_for_it(judged):
    said, _ = judged(EMPTY, changed={"app.py": FIXED})
    assert said.stays == ""
    assert [(proof.kind, "test_empty" in proof.said) for proof in said.proofs[1]] == [
        (ProofClass.WITNESSED, True)
    ]


def test_red_tests_about_other_code_are_not_held_against_it(judged):
    said, runs = judged(EMPTY, changed={"app.py": WRONG}, red=RED[1:])
    assert (said.stays, said.proofs, runs) == ("", {}, [])


def test_who_only_tidies_up_need_not_cure_anything(judged):
    tidy = finding("Long line", category="style")
    said, runs = judged(tidy, changed={"app.py": WRONG})
    assert (said.stays, runs) == ("", [])


def test_a_finding_of_a_tool_is_left_to_the_tool(judged):
    said, runs = judged(finding("Division by something", rule="X100"), changed={"app.py": WRONG})
    assert (said.stays, runs) == ("", [])
