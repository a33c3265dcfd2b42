"""kill -9 between two writes of an agent's fix, then `clean`, then `resume`: nothing paid is lost."""

from collections import Counter

import pytest
from test_killed import drive, finished, last_run
from workbench import fix, fixer, review, scores

from punchlist.adapters.agents.scripted.agent import read_calls
from punchlist.app.after.clean import clean_state
from punchlist.model.item.item import Status

SCRIPT = (
    review("cheapest", label="0 technical"),
    review(),
    {"role": "reproducer", "answer": {"tests": []}},
    fixer(fix("cheapest")),
    scores(F001=95),
)


def clean(bench):
    async def work(session):
        return await clean_state(session)

    return bench.do(work)


def asked(bench):
    calls = read_calls(bench.folder / "calls.jsonl")
    return Counter(call.label for call in calls if call.role == "fixer")


@pytest.mark.parametrize("written", ["answers/", "work/"])
def test_a_fix_that_was_paid_for_is_not_asked_for_again(bench, written):
    bench.play(*SCRIPT)
    name = "fixer" if written == "answers/" else written
    assert drive(bench.repo, "run", "written", name).returncode == -9
    clean(bench)
    finished(bench.repo)
    assert asked(bench).total() == 1
    assert last_run().items[1].status is Status.FIXED
    assert "sorted(prices)[0]" in bench.landed("shop/prices.py")
    clean(bench)
    assert not list(bench.folder.glob("state/repos/*/trees/kept-*")), "the run has ended"


def test_an_answer_whose_changes_are_gone_is_asked_for_again(bench):
    bench.play(*SCRIPT)
    assert drive(bench.repo, "run", "written", "fixer").returncode == -9
    for mark in bench.folder.glob("state/repos/*/trees/*.kept"):
        mark.unlink()
    finished(bench.repo)
    item = last_run().items[1]
    assert item.status is Status.FIXED
    assert not any("no change was made" in attempt.why for attempt in item.attempts)
