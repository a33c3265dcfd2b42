"""Dismissed by someone who may: recorded with the reason, remembered by later runs, and it can be undone."""

import pytest

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
