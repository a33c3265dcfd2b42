"""How a run ended, in one word; nothing is clean that was not looked at."""

from enum import StrEnum

from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run


class Outcome(StrEnum):
    """FIXED: each item was fixed or dismissed. DISMISSED: each was dismissed, so
    nothing was fixed.
    """

    CLEAN = "clean"
    FIXED = "fixed"
    DISMISSED = "dismissed"
    LEFTOVERS = "leftovers"
    INCOMPLETE = "incomplete"


def outcome(run: Run) -> Outcome:
    looked = any(
        not review.failed and not review.skipped for review in run.reviewing.reviews.values()
    )
    if (
        run.blind
        or run.halted
        or run.trouble
        or run.filing.unfiled
        or run.filing.owed
        or not looked
        or _unheard(run)
        or _unjudged(run)
    ):
        return Outcome.INCOMPLETE
    ours = run.in_scope
    if not ours and not run.reviewing.refused:
        return Outcome.INCOMPLETE if run.overlooked else Outcome.CLEAN
    ends = {item.status for item in ours}
    if run.reviewing.refused or not ends <= {Status.FIXED, Status.DISMISSED}:
        return Outcome.LEFTOVERS
    return Outcome.FIXED if Status.FIXED in ends else Outcome.DISMISSED


def _unheard(run: Run) -> bool:
    """Somebody was to review, and never spoke."""
    return any(name not in run.reviewing.reviews for name in run.started.reviewers)


def _unjudged(run: Run) -> bool:
    """Fixes landed that the checks were to judge, and none of these could."""
    started = run.started
    return bool(
        run.landing.landed and run.checks.unverified and started.checks and started.checks_allowed
    )
