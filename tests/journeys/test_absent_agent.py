"""An agent that gave no answer has not tried: its items wait, and nothing is filed as their fault."""

import pytest
from workbench import fix, fixer, review

from punchlist.model.item.item import Fact, Status
from punchlist.views.item_words import unfixed_reason
from punchlist.views.summary import find_gaps

ONCE = {"agents.retries": "0"}


def fails(trouble, **more):
    return {"role": "fixer", "fail": {"text": f"no luck: {trouble}", "trouble": trouble}, **more}


@pytest.mark.parametrize("trouble", ["rate-limit", "auth", "limit"])
def test_an_agent_that_was_not_there_is_no_attempt(bench, trouble):
    bench.play(review("mean"), fails(trouble))
    run = bench.run("verified", flags=ONCE)
    item = run.items[1]
    assert (item.status, item.tries, run.ended) == (Status.DEFERRED, 0, "incomplete")
    assert [attempt.fact for attempt in item.attempts] == [Fact.ABSENT]
    assert unfixed_reason(item) == f"the agent gave no answer: robot: no luck: {trouble}"
    assert (item.issue, run.filing.listed) == ("", (1,))
    assert [role for _, role in bench.calls].count("fixer") == 1
    (gap,) = [gap for gap in find_gaps(run) if gap.about == "trouble"]
    assert gap.what == "1 item waits for an agent; nothing was tried, nothing was filed"


def test_an_agent_that_crashed_is_asked_again_and_its_crash_counts_for_nothing(bench):
    bench.play(review("page"), fails("crashed", times=1), fixer(fix("page")))
    run = bench.run("verified")
    assert (run.items[1].status, run.items[1].tries) == (Status.FIXED, 0)


def test_an_agent_that_never_answers_is_asked_as_often_as_the_workflow_allows(bench):
    bench.play(review("mean"), fails("timeout"))
    run = bench.run("verified")
    assert (run.items[1].status, run.ended) == (Status.DEFERRED, "incomplete")
    assert [role for _, role in bench.calls].count("fixer") == 3


def test_the_last_real_reason_is_told_beside_the_number_of_attempts(bench):
    reason = "the owner of the data has to decide"
    bench.play(review("mean"), fixer(fix("mean", "deferred", reason)))
    run = bench.run("verified")
    assert unfixed_reason(run.items[1]) == f"3 attempts failed; the last one: {reason}"
