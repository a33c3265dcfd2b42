"""Red tests decide: a fixer that leaves one red has cured nothing or half, and two agents cannot agree it away."""

from watching import Watch
from workbench import finding, fix, fixer, review, scores

from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Examined

RED = (
    "import unittest\n\nfrom shop import prices\n\n\nclass Known(unittest.TestCase):\n"
    "    def test_nothing(self):\n        self.assertIsNone(prices.mean([]))\n\n"
    "    def test_two(self):\n        self.assertEqual(prices.cheapest([1, 2]), 1)\n"
)
NO_TESTS = {"role": "reproducer", "answer": {"tests": []}}


def with_red_tests(bench):
    bench.repo.commit({"tests/test_known.py": RED}, "tests that are red")
    return bench


def vague(**more):
    """A review that says of no line what is wrong."""
    said = {**finding("mean"), "title": "Some results are wrong", "description": "See the tests."}
    del said["line_start"], said["line_end"]
    return review(**more) | {"answer": {"findings": [said], "summary": "looked"}}


def test_a_fix_without_a_line_must_turn_all_red_tests_of_the_file_green(bench):
    """The first cure does nothing for the tests, the second half of it, the third all."""
    with_red_tests(bench)
    half, rest = fix("mean"), fix("cheapest")
    nothing = {
        "path": "shop/prices.py",
        "replace": "return sum(prices)",
        "with": "return sum(prices, 0.0)",
    }
    told = {"when": "Some results are wrong"}
    bench.play(
        vague(times=1),
        review(),
        NO_TESTS,
        fixer({**half, **told, "edits": [nothing]}, round=1),
        fixer({**half, **told}, round=2),
        fixer({**half, **told, "edits": [*half["edits"], *rest["edits"]]}),
        scores(F001=95),
    )
    watch = Watch()
    run = bench.run(watch=watch)
    first, second, third = watch.of(Examined)
    assert "still is red" in first.refuted
    assert "partial cure" in second.refuted
    assert (third.refuted, [each.kind for each in third.proofs[1]]) == ("", [ProofClass.WITNESSED])
    assert run.items[1].status is Status.FIXED
    reasons = [each.why for each in run.items[1].attempts if each.fact is Fact.REJECTED]
    assert "test_two stayed red" in reasons[1]
