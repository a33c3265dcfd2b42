"""Dismissed by someone who may: recorded with the reason, remembered by later runs, and it can be undone."""

import json
import threading
from pathlib import Path

import pytest

from punchlist.adapters.store.lease import FileLeases
from punchlist.app.after.dismissals import ItemSelection, dismiss_items, load_dismissals
from punchlist.cli.show.json import exit_code
from punchlist.errors import UsageError
from punchlist.model.item.item import Fact, Move, Status
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Dismissed, Returned
from punchlist.model.ledger.outcome import RunOutcome, run_outcome

ADA = Dismissal("ada", "the old name is public", "")


def dismiss(place, *numbers, saying=ADA, undo=False, **chosen):
    async def work(app):
        return dismiss_items(
            app, "last", ItemSelection(numbers=numbers, **chosen), saying, undo=undo
        )

    return place.do(work)[0]


def culprit(run):
    return next(item for item in run.items.values() if "dumps" in item.lead.title)


def test_a_dismissal_is_recorded_remembered_shown_and_can_be_undone(place):
    first = place.run(allow_checks=False, workflow="review")
    assert culprit(first).status is Status.OPEN
    now = dismiss(place, culprit(first).number)
    assert culprit(now).status is Status.DISMISSED
    assert now.active == pytest.approx(first.active), "the time a person takes is not the run's"
    assert place.audit().ok

    second = place.run(allow_checks=False)
    told = culprit(second)
    assert told.status is Status.DISMISSED
    assert (told.attempts[0].by, told.attempts[0].why) == (
        "ada",
        f"the old name is public (dismissed in run {first.id})",
    )
    assert "dumps" in place.repo.git("show", f"{second.landing.branch}:shop/compat.py")
    assert place.audit().ok

    dismiss(place, told.number, undo=True)
    third = place.run(allow_checks=False, workflow="review")
    assert culprit(third).status is Status.OPEN


def test_where_all_was_dismissed_nothing_is_called_fixed(place):
    run = place.run(allow_checks=False, workflow="review")
    now = dismiss(place, *(item.number for item in run.items.values()))
    assert {item.status for item in now.items.values()} == {Status.DISMISSED}
    assert (run_outcome(now), exit_code(now)) == (RunOutcome.DISMISSED, 0)


def test_what_is_fixed_not_there_or_without_a_reason_is_not_dismissed(place):
    run = place.run(allow_checks=False)
    fixed = run.find_items(Status.FIXED)[0].number
    for numbers, saying, said in (
        ((fixed,), ADA, "is fixed"),
        ((999,), ADA, "no item 999"),
        ((1,), Dismissal("ada", " ", ""), "needs a reason"),
    ):
        with pytest.raises(UsageError, match=said):
            dismiss(place, *numbers, saying=saying)


def test_what_is_claimed_is_not_called_dismissed(place):
    """A run killed between a fix and its judgement: nothing would move the item, and later runs would not look at it."""
    run = place.run(allow_checks=False, workflow="review")
    claimed, other = list(run.items)[:2]

    async def claim(app):
        move = Move(claimed, Fact.SAID_FIXED, by="robot")
        app.store.append(
            run.id, "people", "for the test", Returned(why="", moves=(move,)), run.last_at
        )
        return app.load(run.id)

    assert place.do(claim).items[claimed].status is Status.CLAIMED
    with pytest.raises(UsageError, match="is claimed"):
        dismiss(place, claimed)
    now = dismiss(place, ranges=(range(1, 1000),))
    assert now.items[claimed].status is Status.CLAIMED
    assert now.items[other].status is Status.DISMISSED
    assert now.items[claimed].fingerprint not in place.do(_remembered)


async def _remembered(app):
    return load_dismissals(app.store, app.key)


def test_a_dismissal_that_was_taken_back_stays_so_though_the_clock_was_set_back_meanwhile(place):
    run = place.run(allow_checks=False, workflow="review")
    fingerprint = culprit(run).fingerprint

    async def said(app):
        for at, revoked in ((run.last_at + 100, False), (run.last_at + 50, True)):
            event = Dismissed(by="ada", why="", fingerprints=(fingerprint,), revoked=revoked)
            app.store.append(run.id, "people", f"{revoked}", event, at)

    place.do(said)
    assert fingerprint not in place.do(_remembered)


def test_of_two_dismissals_at_once_none_is_swallowed(place, monkeypatch):
    run = place.run(allow_checks=False, workflow="review")
    first, second = list(run.items)[:2]

    acquire = FileLeases.acquire

    def contended(leases, run, request="", *, force=False):
        """Another user had it, and dismissed an item, just before we got it."""
        monkeypatch.setattr(FileLeases, "acquire", acquire)
        other = threading.Thread(target=dismiss, args=(place, first))  # an event loop of its own
        other.start()
        other.join()
        return acquire(leases, run, request, force=force)

    monkeypatch.setattr(FileLeases, "acquire", contended)
    now = dismiss(place, second)
    assert [now.items[number].status for number in (first, second)] == [Status.DISMISSED] * 2
    assert place.audit().ok


def told_by(run):
    """What the reports on the disk, and the list of open issues, say."""
    (document,) = (
        json.loads(Path(path).read_text())
        for path in run.filing.artifacts
        if path.endswith("report.json")
    )
    (issues,) = {Path(item.issue).parent for item in run.items.values() if item.issue}
    return document["outcome"], (issues / "README.md").read_text().partition("## Dismissed")[
        0
    ].count("\n- ")


def test_reports_issues_outcome_and_exit_code_catch_up_with_a_dismissal_and_with_its_undoing(place):
    run = place.run(allow_checks=False)
    left = [item.number for item in run.find_items(Status.FILED)]
    assert left
    assert told_by(run) == ("leftovers", len(left))

    now = dismiss(place, *left)
    assert told_by(now) == ("fixed", 0)
    assert (now.ended, run_outcome(now), exit_code(now)) == ("leftovers", RunOutcome.FIXED, 0)
    issue = Path(now.items[left[0]].issue).read_text()
    assert "Status: dismissed by ada: the old name is public" in issue
    (row,) = place.do(_rows)
    assert (row.outcome, row.last_kind, row.active) == (
        "leftovers",
        "ended",
        pytest.approx(run.active),
    )

    again = dismiss(place, *left, saying=Dismissal("ada", "", ""), undo=True)
    assert [again.items[number].status for number in left] == [Status.FILED] * len(left)
    assert told_by(again) == ("leftovers", len(left))
    assert exit_code(again) == 1
    assert place.audit().ok


async def _rows(app):
    assert [app.outcome_of(row) for row in app.runs()] == ["fixed"]
    return app.runs()


def test_only_a_dismissal_can_be_undone(place):
    run = place.run(allow_checks=False)
    for status, said in (
        (Status.FIXED, "is fixed, not dismissed"),
        (Status.FILED, "is filed, not dismissed"),
    ):
        with pytest.raises(UsageError, match=said):
            dismiss(place, run.find_items(status)[0].number, undo=True)
    with pytest.raises(UsageError, match="no item of run"):
        dismiss(place, ranges=(range(1, 1000),), undo=True)


def test_many_are_dismissed_by_range_rule_and_path_and_what_is_fixed_is_left_out(place):
    run = place.run(allow_checks=False, workflow="review")
    unused = {item.number for item in run.items.values() if item.lead.rule == "F401"}
    in_prices = {
        item.number for item in run.items.values() if item.lead.spot.path == "shop/prices.py"
    }
    assert unused & in_prices
    assert unused - in_prices

    def gone(now):
        return {item.number for item in now.find_items(Status.DISMISSED)}

    assert gone(dismiss(place, rules=("F401",), paths=("./shop/prices.py",))) == unused & in_prices
    assert gone(dismiss(place, paths=("shop/prices.py",))) == in_prices
    assert gone(dismiss(place, rules=("F401",))) == unused | in_prices
    assert gone(dismiss(place, ranges=(range(1, 100),))) == set(run.items)
    with pytest.raises(UsageError, match="can be dismissed"):
        dismiss(place, ranges=(range(1, 100),))
    assert gone(dismiss(place, rules=("F401",), undo=True)) == set(run.items) - unused
    assert place.audit().ok


def test_who_dismisses_is_who_git_says(place):
    assert place.do(lambda app: app.who()) == ""
    place.repo.git("config", "user.name", "Ada L.")
    assert place.do(lambda app: app.who()) == "Ada L."
