"""Tests as witnesses, run for real: the fixer's own, and private ones."""

import msgspec
import pytest
from examination import finding
from replaying import PYTEST, UNITTEST

from punchlist.model.checks.check import CheckResult
from punchlist.model.checks.check import TestOutcome as Outcome
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Reproduced

APP = "def mean(values):\n    return sum(values) / len(values)\n"
FIXED = "def mean(values):\n    if not values:\n        return 0\n    return sum(values) / len(values)\n"
TESTS = {
    "pytest": "from app import mean\n\n\ndef test_empty():\n    assert mean([]) == 0\n",
    "unittest": (
        "import unittest\nfrom app import mean\n\n\nclass Empty(unittest.TestCase):\n"
        "    def test_empty(self):\n        self.assertEqual(mean([]), 0)\n"
    ),
}
VACUOUS = "from app import mean\n\n\ndef test_two():\n    assert mean([1, 3]) == 2\n"
OLD = "import unittest\nfrom app import mean\n\n\nclass Old(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(mean([1, 3]), 2)\n"
EMPTY = finding("mean() of an empty list crashes")
WRITTEN = "tests/test_empty.py"


@pytest.fixture
def made(bench):
    return lambda check=PYTEST: bench(
        {"app.py": APP, "tests/test_app.py": OLD}, check=check, compare=False
    )


@pytest.mark.parametrize("check", [PYTEST, UNITTEST], ids=["pytest", "unittest"])
def test_a_test_that_fails_without_the_fix_and_passes_with_it_is_a_witness(made, check):
    bench = made(check)
    said = bench.examine(
        EMPTY, changed={"app.py": FIXED, WRITTEN: TESTS[check.name]}, tests=[WRITTEN]
    )
    assert [proof.kind for proof in said.proofs[1]] == [ProofClass.WITNESSED]
    assert bench.checks.runs == [(WRITTEN,)] * 3
    assert said.usage.checks == 3


def test_a_test_that_passes_without_the_fix_is_noted_and_proves_nothing(made):
    said = made().examine(EMPTY, changed={"app.py": FIXED, WRITTEN: VACUOUS}, tests=[WRITTEN])
    assert (said.refuted, said.proofs) == ("", {})
    assert any("passes without the fix" in note for note in said.noted)


def test_tests_added_to_a_file_that_is_there_are_witnesses_and_must_pass(made):
    bench = made()
    said = bench.examine(
        EMPTY,
        changed={
            "app.py": FIXED,
            "tests/test_app.py": OLD + TESTS["pytest"].partition("mean\n")[2],
        },
    )
    assert [proof.kind for proof in said.proofs[1]] == [ProofClass.WITNESSED]
    known = "\n\ndef test_red_before():\n    assert mean([1]) == 7\n"
    bench.world.artifacts.write(
        "baseline-pytest.json",
        msgspec.json.encode(
            CheckResult(
                check="pytest",
                exit_code=1,
                seconds=0,
                tests={"tests/test_app.py::test_red_before": Outcome.FAILED},
            )
        ),
    )
    assert (
        bench.examine(EMPTY, changed={"app.py": FIXED, "tests/test_app.py": OLD + known}).refuted
        == ""
    )
    broken = OLD + "\n\ndef test_empty():\n    assert mean([]) == 7\n"
    assert (
        "not seen to pass"
        in bench.examine(EMPTY, changed={"app.py": FIXED, "tests/test_app.py": broken}).refuted
    )


def test_a_test_that_cannot_be_imported_without_the_fix_proves_nothing(made):
    test = "from app import brand_new\n\n\ndef test_it():\n    assert brand_new() == 1\n"
    changed = {"app.py": FIXED + "\n\ndef brand_new():\n    return 1\n", WRITTEN: test}
    said = made().examine(EMPTY, changed=changed)
    assert (said.refuted, said.proofs) == ("", {})
    assert any(f"{WRITTEN} is no witness" in note for note in said.noted)


def test_a_test_that_was_named_and_is_not_there_is_noted(made):
    said = made().examine(EMPTY, changed={"app.py": FIXED}, tests=["tests/test_ghost.py"])
    assert any("tests/test_ghost.py" in note for note in said.noted)


def private(content: str) -> dict:
    return {1: Reproduced(item=1, path="tests/test_0123456789abcdef.py", content=content, red=True)}


def test_a_private_test_that_is_green_now_is_the_strongest_proof(made):
    said = made().examine(EMPTY, changed={"app.py": FIXED}, private=private(TESTS["pytest"]))
    assert [proof.kind for proof in said.proofs[1]] == [ProofClass.REPRODUCED]


OTHER = finding("mean() takes no generators", line=1)


def test_a_private_test_of_an_item_that_was_put_off_is_not_held_against_the_others(made):
    said = made().examine(
        OTHER,
        EMPTY,
        changed={"app.py": FIXED},
        private=private(VACUOUS.replace("== 2", "== 7")),
        put_off=(1,),
    )
    assert said.refuted == ""


def test_a_test_of_which_nobody_says_what_it_is_for_proves_no_item_among_several(made):
    changed = {"app.py": FIXED, WRITTEN: TESTS["pytest"]}
    assert made().examine(EMPTY, OTHER, changed=changed).proofs == {}
    assert list(made().examine(EMPTY, OTHER, changed=changed, put_off=(2,)).proofs) == [1]


def test_a_private_test_that_stays_red_refutes_and_its_text_stays_private(made):
    wrong = FIXED.replace("return 0", "return 1")
    said = made().examine(EMPTY, changed={"app.py": wrong}, private=private(TESTS["pytest"]))
    assert "private test" in said.refuted
    assert "assert" not in said.refuted
    assert said.proofs == {}


def test_a_private_test_that_is_green_on_the_tip_by_now_proves_nothing(made):
    said = made().examine(EMPTY, changed={"app.py": FIXED}, private=private(VACUOUS))
    assert (said.refuted, said.proofs) == ("", {})
    assert any("says nothing any more" in note for note in said.noted)


def test_what_was_seen_red_on_a_tip_is_not_run_again_there(made):
    bench = made()
    for _ in range(2):
        bench.examine(EMPTY, changed={"app.py": FIXED}, private=private(TESTS["pytest"]))
    assert len(bench.checks.runs) == 4  # red twice, and one look at each patch


def test_what_the_text_refutes_is_never_run(made):
    bench = made()
    assert bench.examine(
        EMPTY, changed={"app.py": "# better\n" + APP, WRITTEN: TESTS["pytest"]}
    ).refuted
    assert bench.checks.runs == []


def test_a_test_that_reads_the_source_is_no_witness_and_is_not_run(made):
    test = "import inspect\n\nfrom app import mean\n\n\ndef test_it():\n    assert mean([1]) and 'if not' in inspect.getsource(mean)\n"
    bench = made()
    said = bench.examine(EMPTY, changed={"app.py": FIXED, WRITTEN: test}, tests=[WRITTEN])
    assert (said.refuted, said.proofs, bench.checks.runs) == ("", {}, [])
    assert any("text of the code" in note for note in said.noted)


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("from app import mean\n\n\ndef test_it():\n    assert 'if not' in open('app.py').read()\n", "looks at the text of the code"),
        ("from app import mean\n\n\ndef test_it():\n    assert callable(mean)\n", "calls nothing of the code"),
        ("import app\n\n\ndef test_it(tmp_path):\n    assert hasattr(app, 'mean') and sorted([2, 1]) == [1, 2]\n", "calls nothing of the code"),
    ],
    ids=["reads", "callable", "sorted"],
)  # fmt: skip
def test_a_fix_whose_test_only_pretends_to_prove_it_is_refused(made, test, why):
    said = made().examine(EMPTY, changed={"app.py": FIXED, WRITTEN: test}, tests=[WRITTEN])
    assert why in said.refuted
