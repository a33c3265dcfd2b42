"""verified: fix, run the checks, retry with the failure, a report of every cycle."""

import json

from workbench import BASE, fix, fixer, review

from punchlist.model.item.item import Fact, Status

BREAKS = {
    "path": "shop/prices.py",
    "replace": "return sum(prices)",
    "with": "return sum(prices) + 1",
}


def breaking(**more):
    """A fix that breaks a test."""
    wrong = fix("mean")
    return fixer({**wrong, "edits": [*wrong["edits"], BREAKS]}, **more)


def cycles(bench) -> dict:
    return json.loads((bench.artifacts() / "cycles.json").read_text())


def test_one_cycle_that_passes(bench):
    bench.play(review("page"), fixer(fix("page")))
    run = bench.run("verified")
    assert run.items[1].status is Status.FIXED
    told = cycles(bench)
    assert told["final_status"] == "passed"
    assert told["total_cycles"] == 1
    assert told["fixes_applied"] == 1


def test_three_failing_cycles_are_the_end(bench):
    bench.play(review("mean"), breaking())
    run = bench.run("verified")
    assert run.items[1].status is Status.FILED
    told = cycles(bench)
    assert (told["total_cycles"], told["final_status"], told["fixes_applied"]) == (3, "failed", 0)
    assert not run.landing.landed


def test_a_cycle_without_a_change_is_noted(bench):
    bench.play(review("page"), fixer(fix("page", edit=False), round=1), fixer(fix("page")))
    run = bench.run("verified")
    assert run.items[1].status is Status.FIXED
    assert "no changes applied" in json.dumps(cycles(bench)).casefold()


def test_an_agent_that_crashes_costs_a_cycle_and_no_more(bench):
    bench.play(
        review("page"),
        {"role": "fixer", "round": 1, "fail": {"text": "exit code 3", "trouble": "crashed"}},
        fixer(fix("page")),
    )
    run = bench.run("verified")
    assert run.items[1].attempts[0].fact is Fact.ABSENT
    assert "exit code 3" in run.items[1].attempts[0].why
    assert run.items[1].status is Status.FIXED


def test_the_prompt_has_findings_hunks_conventions_and_checks(bench):
    shown = [
        "mean() fails for no prices",
        "def mean(prices)",
        BASE["AGENTS.md"].strip(),
        "unittest",
    ]
    bench.play(review("mean"), fixer(fix("mean"), prompt=shown))
    assert bench.run("verified").items[1].status is Status.FIXED
