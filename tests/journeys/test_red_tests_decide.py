"""Red tests decide: a fixer that leaves one red has cured nothing or half, and two agents cannot agree it away."""

from watching import Watch
from workbench import finding, fix, fixer, review, scores

from punchlist.model.item.item import Fact, Status
from punchlist.model.item.proof import ProofClass
from punchlist.model.ledger.events import Examined
from punchlist.views.item_words import unfixed_reason

RED = (
    "import unittest\n\nfrom shop import prices\n\n\nclass Known(unittest.TestCase):\n"
    "    def test_nothing(self):\n        self.assertIsNone(prices.mean([]))\n\n"
    "    def test_two(self):\n        self.assertEqual(prices.cheapest([1, 2]), 1)\n\n"
    "    def test_data(self):\n        prices.mean([1])\n        open('tests/none.json')\n"
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
    assert "test_data is red for another reason: a file of the tests is missing" in third.noted[-1]
    assert run.items[1].status is Status.FIXED
    reasons = [each.why for each in run.items[1].attempts if each.fact is Fact.REJECTED]
    assert "test_two stayed red" in reasons[1]


def test_two_agents_that_agree_on_nothing_to_fix_do_not_stand_against_a_red_test(bench):
    """`mean` has a red test. `page` has none, and what two agents agree on ends it."""
    with_red_tests(bench)
    bench.play(
        review("mean", "page", times=1),
        review(),
        NO_TESTS,
        fixer(
            fix("mean", "contested", "callers never pass an empty list"),
            fix("page", "contested", "pages are counted from 0"),
        ),
        scores(F001=95, F002=95),
        agents=("robot", "critic"),
    )
    run = bench.run()
    by_file = {item.lead.spot.path: item for item in run.items.values()}
    assert by_file["shop/pages.py"].status is Status.DISMISSED
    contested = by_file["shop/prices.py"]
    assert contested.status is Status.FILED
    assert "tests.test_known.Known.test_nothing" in unfixed_reason(contested)
    assert "callers never pass an empty list (agreed by critic" in contested.attempts[-2].evidence
