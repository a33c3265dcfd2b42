"""Dismissed by someone who may: recorded with the reason, remembered by later runs, and it can be undone."""

import threading

import pytest

from punchlist.adapters.store.lease import Lease
from punchlist.errors import UsageError
from punchlist.model.events import Dismissal
from punchlist.model.item import Status

ADA = Dismissal("ada", "the old name is public", "")


def dismiss(place, *numbers, saying=ADA, undo=False):
    async def work(app):
        return app.dismiss("last", numbers, saying, undo=undo)

    return place.do(work)


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
    assert (told.attempts[0].by, told.attempts[0].why) == ("ada", f"the old name is public (dismissed in run {first.id})")
    assert "dumps" in place.repo.git("show", f"{second.branch}:shop/compat.py")
    assert place.audit().ok

    dismiss(place, told.number, undo=True)
    third = place.run(allow_checks=False, workflow="review")
    assert culprit(third).status is Status.OPEN


def test_what_is_fixed_not_there_or_without_a_reason_is_not_dismissed(place):
    run = place.run(allow_checks=False)
    fixed = run.having(Status.FIXED)[0].number
    for numbers, saying, said in (
        ((fixed,), ADA, "is fixed"),
        ((999,), ADA, "no item 999"),
        ((1,), Dismissal("ada", " ", ""), "needs a reason"),
    ):
        with pytest.raises(UsageError, match=said):
            dismiss(place, *numbers, saying=saying)


def test_of_two_dismissals_at_once_none_is_swallowed(place, monkeypatch):
    run = place.run(allow_checks=False, workflow="review")
    first, second = list(run.items)[:2]

    class Contended(Lease):
        """Somebody else had it, and said something, just before we got it."""

        @classmethod
        def take(cls, home, run, request=""):
            monkeypatch.setattr("punchlist.app.app.Lease", Lease)
            other = threading.Thread(target=dismiss, args=(place, first))  # an event loop of its own
            other.start()
            other.join()
            return Lease.take(home, run, request)

    monkeypatch.setattr("punchlist.app.app.Lease", Contended)
    now = dismiss(place, second)
    assert [now.items[number].status for number in (first, second)] == [Status.DISMISSED] * 2
    assert place.audit().ok
