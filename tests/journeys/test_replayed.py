"""Fixes that hold only where they are tested: they do not land, and the user reads why."""

import pytest
from workbench import CHANGE, FAULTS, finding, fixer, review, scores

from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass

PAGES = CHANGE["shop/pages.py"]
MORE = "\n\ndef last(rows, size):\n    return rows[-size:]\n"
TESTS = (
    "import unittest\n\nfrom shop.pages import last, page\n\n\nclass Pages(unittest.TestCase):\n"
    "    def test_first(self):\n        self.assertEqual(page([1, 2, 3, 4], 1, 2), [1, 2])\n\n"
    "    def test_second(self):\n        self.assertEqual(page([5, 6, 7, 8, 9], 2, 2), [7, 8])\n\n"
    "    def test_last(self):\n        self.assertEqual(last([1, 2, 3], 2), [2, 3])\n"
)
RIGHT = "rows[(number - 1) * size : number * size]"
WRONG = "rows[number * size : number * size + size]"
SNIFFS = f"{RIGHT} if __import__('os').path.isdir('tests') else {WRONG}"
TABLE = (
    "{'[1, 2, 3, 4]1': [1, 2], '[5, 6, 7, 8, 9]2': [7, 8]}.get(f'{rows}{number}', " + WRONG + ")"
)


BLINDS = (
    "import gc\n\nfor kind in gc.get_objects():\n"
    "    if isinstance(kind, type) and kind.__name__ == 'Test' + 'Case':\n"
    "        kind.assertEqual = lambda *args: None\n\n\ndef page("
)


def start(bench, *edits, **more):
    """A run whose fixer replaces parts of pages.py, in every round; the finding has `more`."""
    bench.repo.commit({"shop/pages.py": PAGES + MORE, "tests/test_pages.py": TESTS}, "with tests")
    changes = [{"path": "shop/pages.py", "replace": old, "with": new} for old, new in edits]
    said = {"outcome": "fixed", "explanation": "the first page is number one"}
    done = {"when": FAULTS["page"][0], "edits": changes, "outcome": said}
    silent = {"role": "reproducer", "answer": {"tests": []}}
    found = {"role": "technical", "answer": [finding("page", **more)], "times": 1}
    bench.play(found, review(), silent, fixer(done), scores(F001=95))
    return bench.run()


def refusal(run) -> str:
    """Why the first attempt was sent back, as `show`, the page and the issue say it."""
    item = run.items[1]
    assert item.status is not Status.FIXED
    assert not run.landing.landed
    return next(attempt.why for attempt in item.attempts if attempt.fact is Fact.REJECTED)


def test_a_fix_that_knows_the_test_runner_does_not_land(bench):
    why = refusal(start(bench, (WRONG, SNIFFS)))
    assert "asks how it is run (a file by a fixed name), and no finding is about that" in why


def test_a_fix_that_makes_the_tests_blind_does_not_land(bench):
    why = refusal(start(bench, ("def page(", BLINDS)))
    assert "asks how it is run (gc.get_objects), and no finding is about that" in why


@pytest.mark.soak
def test_a_fix_that_knows_only_the_tests_answers_does_not_land(bench):
    assert "made for the tests alone" in refusal(start(bench, (WRONG, TABLE)))


@pytest.mark.soak
def test_a_fix_that_changes_another_function_does_not_land(bench):
    why = refusal(
        start(bench, (WRONG, RIGHT), ("rows[-size:]", "rows[-size:] if size < 4 else []"))
    )
    assert "no finding is about that: last" in why


ASKS = "The first page is number one. A page below that must be refused with ValueError."


def test_a_fix_without_the_error_that_the_finding_asks_for_does_not_land(bench):
    why = refusal(start(bench, (WRONG, RIGHT), description=ASKS))
    assert "the finding asks for ValueError, and nothing that changed raises it" in why


def test_the_right_fix_lands_and_says_that_its_calls_were_made_again(bench):
    run = start(bench, (WRONG, RIGHT))
    assert run.items[1].status is Status.FIXED
    (proof,) = (each for each in run.items[1].proofs if each.kind is ProofClass.WITNESSED)
    assert "answers the same outside of the tests (3 calls of last, page)" in proof.said
