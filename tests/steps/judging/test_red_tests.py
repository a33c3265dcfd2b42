"""Tests of the project that were red before a fix: all that speak of the finding must turn green, whatever is claimed."""

import asyncio

import msgspec
import pytest
from examination import finding
from replaying import PYTEST, UNITTEST

from punchlist.model.checks import check as checks
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.run import Checking
from punchlist.steps.judging.examine import judge_partial
from punchlist.steps.judging.red_tests import PartialCure, rerun_red_tests

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

    def told(*findings, changed, red=RED, claimed=None, analyzers=()):
        """`claimed` are the numbers of the items that the patch is said to fix; else it is all."""
        world = made.world
        outcomes = dict.fromkeys(red, checks.TestOutcome.FAILED)
        result = checks.CheckResult(check="unittest", exit_code=1, seconds=0, tests=outcomes)
        world.artifacts.write("baseline-unittest.json", msgspec.json.encode(result))
        run = made.run(*findings, changed=changed)
        known = {"unittest": Baselined(check="unittest", failed=len(red), judges=(".py",))}
        started = msgspec.structs.replace(run.started, reviewers=analyzers)
        run = msgspec.structs.replace(run, checks=Checking(baselines=known), started=started)
        return asyncio.run(
            rerun_red_tests(
                [each for n, each in run.items.items() if claimed is None or n in claimed],
                run.work.patches[1],
                run,
                world,
            )
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


def test_a_finding_of_an_analyzer_is_left_to_the_analyzer(judged):
    found = finding("Division by something", rule="X100")
    said, runs = judged(found, changed={"app.py": WRONG}, analyzers=(found.source,))
    assert (said.stays, runs) == ("", [])


def test_a_rule_from_a_document_is_judged_by_red_tests_as_no_analyzer_looks_again(judged):
    found = finding("Division by something", rule="X100")
    said, _ = judged(found, changed={"app.py": WRONG}, analyzers=("strict",))
    assert "still is red" in said.stays


@pytest.mark.parametrize(
    "place",
    [{"line": None}, {"line": 3}, {"line": 99}],
    ids=["no line", "a line between functions", "a line beyond the end"],
)
def test_red_tests_of_the_file_decide_where_no_line_says_what_is_meant(judged, place):
    vague = finding("an empty list is not handled", **place)
    said, _ = judged(vague, changed={"app.py": WRONG}, red=RED[:1])
    assert "test_empty" in said.stays
    said, _ = judged(vague, changed={"app.py": FIXED}, red=RED[:1])
    assert (said.stays, said.partial, list(said.proofs)) == ("", {}, [1])


def test_a_cure_that_leaves_another_red_test_red_is_partial_and_no_witness(judged):
    vague = finding("the results are wrong", line=None)
    said, runs = judged(vague, changed={"app.py": FIXED})
    assert (said.stays, said.proofs) == ("", {})
    assert "test_empty turned green" in said.partial[1].said
    assert "test_total stayed red" in said.partial[1].said
    assert not said.partial[1].excused
    assert len(runs) == 1


def test_two_findings_in_one_file_do_not_make_each_other_partial(judged):
    other = finding("total() is wrong", line=6)
    said, _ = judged(EMPTY, other, changed={"app.py": FIXED}, claimed=[1])
    assert (said.stays, said.partial, list(said.proofs)) == ("", {}, [1])


def test_a_partial_cure_is_excused_where_another_open_item_explains_the_red_test(judged):
    vague, other = finding("the results are wrong", line=None), finding("total() is wrong", line=6)
    said, _ = judged(vague, other, changed={"app.py": FIXED}, claimed=[1])
    assert said.proofs == {}
    assert said.partial[1].excused


@pytest.mark.parametrize(
    ("low", "second"), [("0", "mean([]) + low([2]), 2"), ("0 if not values else values[9]", "mean([2]), 2")], ids=["named in the test", "fails there"]
)  # fmt: skip
def test_a_partial_cure_is_excused_by_an_open_item_in_another_file_too(bench, low, second):
    app = "from base import low\n\n\ndef mean(values):\n    return sum(values) / len(values) + low(values)\n"
    tests = TESTS.replace(", total", "\nfrom base import low").replace("total([1]), 7", second)
    made = bench({"app.py": app, "base.py": f"def low(values):\n    return {low}\n", "tests/test_app.py": tests}, check=UNITTEST, compare=False)  # fmt: skip
    outcomes = dict.fromkeys(RED, checks.TestOutcome.FAILED)
    result = checks.CheckResult(check="unittest", exit_code=1, seconds=0, tests=outcomes)
    made.world.artifacts.write("baseline-unittest.json", msgspec.json.encode(result))
    other = finding("low() is wrong", "base.py")
    cured = app.replace("/ len(values)", "/ (len(values) or 1)")
    run = made.run(finding("mean() of an empty list crashes", line=5), other, changed={"app.py": cured})  # fmt: skip
    known = {"unittest": Baselined(check="unittest", failed=2, judges=(".py",))}
    run = msgspec.structs.replace(run, checks=Checking(baselines=known))
    patch = run.work.patches[1]
    said = asyncio.run(rerun_red_tests([run.items[1]], patch, run, made.world))
    assert said.partial[1].excused


@pytest.mark.parametrize("excused", [False, True])
@pytest.mark.parametrize("private", [False, True])
def test_a_partial_cure_lands_only_with_a_private_test_or_an_excuse(excused, private):
    witness, own = (Proof(kind, "seen") for kind in (ProofClass.WITNESSED, ProofClass.REPRODUCED))
    proofs = {1: (witness, own) if private else (witness,), 2: (witness,)}
    refuted, left = judge_partial(proofs, {1: PartialCure("partial", excused)})
    assert refuted == ("" if excused or private else "partial")
    assert left == {**({1: (own,)} if private else {}), 2: (witness,)}


def test_a_red_doctest_speaks_of_its_code_and_is_no_witness_where_the_patch_could_change_it(bench):
    doctest = '    """Add.\n\n    >>> total([])\n    0\n    """\n    return sum(values) or None\n'
    text = f"def total(values):\n{doctest}"
    check = msgspec.structs.replace(PYTEST, command=(*PYTEST.command, "--doctest-modules"))
    made = bench({"app.py": text}, check=check, compare=False)
    red = {"app.py::app.total": checks.TestOutcome.FAILED}
    result = checks.CheckResult(check="pytest", exit_code=1, seconds=0, tests=red)
    made.world.artifacts.write("baseline-pytest.json", msgspec.json.encode(result))

    def judge(changed):
        run = made.run(finding("total() of nothing is wrong", line=None), changed=changed)
        known = {"pytest": Baselined(check="pytest", failed=1, judges=(".py",))}
        run = msgspec.structs.replace(run, checks=Checking(baselines=known))
        items = tuple(run.items.values())
        return asyncio.run(rerun_red_tests(items, run.work.patches[1], run, made.world))

    assert "app.total" in judge({"app.py": text.replace("or None", "or -1")}).stays
    cured = judge({"app.py": text.replace(" or None", "")})
    assert (cured.stays, cured.proofs) == ("", {})
