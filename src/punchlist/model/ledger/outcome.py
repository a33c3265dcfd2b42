"""How a run ended, in one word; CLEAN only if reviewers looked."""

from enum import StrEnum

from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run


class RunOutcome(StrEnum):
    """FIXED: each item was fixed or dismissed. DISMISSED: each was dismissed."""

    CLEAN = "clean"
    FIXED = "fixed"
    DISMISSED = "dismissed"
    LEFTOVERS = "leftovers"
    INCOMPLETE = "incomplete"


def run_outcome(run: Run) -> RunOutcome:
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
        or _has_silent_reviewer(run)
        or _has_unjudged_fixes(run)
    ):
        return RunOutcome.INCOMPLETE
    ours = run.in_scope
    if not ours and not run.reviewing.refused:
        return RunOutcome.INCOMPLETE if run.overlooked else RunOutcome.CLEAN
    ends = {item.status for item in ours}
    if run.reviewing.refused or not ends <= {Status.FIXED, Status.DISMISSED}:
        return RunOutcome.LEFTOVERS
    return RunOutcome.FIXED if Status.FIXED in ends else RunOutcome.DISMISSED


def _has_silent_reviewer(run: Run) -> bool:
    """Whether an expected reviewer never reported."""
    return any(name not in run.reviewing.reviews for name in run.started.reviewers)


def _has_unjudged_fixes(run: Run) -> bool:
    """Whether fixes landed that no check could judge."""
    started = run.started
    return bool(
        run.landing.landed and run.checks.unverified and started.checks and started.checks_allowed
    )
