"""The history of an item says why a fix did not land, for each item and each time."""

from pathlib import Path

from workbench import fix, fixer, review

from punchlist.model.item.item import Fact

WEAKENED = {
    "path": "tests/test_prices.py",
    "replace": "self.assertEqual(total([1, 2]), 3)",
    "with": "pass",
}


def test_an_agent_that_edits_tests_for_each_finding_is_told_so_each_time(bench):
    names = ("page", "mean", "initials")
    edited = [{**fix(name), "edits": [*fix(name)["edits"], WEAKENED]} for name in names]
    bench.play(review(*names), fixer(*edited))
    run = bench.run("verified")
    for item in run.items.values():
        told = [each.why for each in item.attempts if each.fact is Fact.REJECTED]
        assert len(told) == 3
        assert all("tests/test_prices.py" in why for why in told), told
    assert not run.landing.landed


def test_what_the_agents_own_program_refused_is_in_the_items_history(bench):
    told = "I could not install the library that the fix needs"
    calls = ["Bash pip install numpy", "WebFetch https://example.org"]
    bench.play(review("mean"), fixer(fix("mean", "deferred", told), denied=calls))
    run = bench.run("verified")
    (why, *_) = [each.why for each in run.items[1].attempts if each.fact is Fact.SAID_DEFERRED]
    assert why == f"{told} (the agent's own program refused: {', '.join(calls)})"
    assert calls[0] in Path(run.items[1].issue).read_text()
