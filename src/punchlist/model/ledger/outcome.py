"""How a run ended, in one word; CLEAN only if reviewers looked."""

from enum import StrEnum

from punchlist.model.item.item import Status
from punchlist.model.item.proof import has_test
from punchlist.model.ledger.run import Run


class RunOutcome(StrEnum):
    """FIXED: each item was fixed or dismissed. DISMISSED: each was dismissed. NOTHING_FOUND: in
    what was under review, while edits beside it were not looked at, or nothing had changed.
    """

    CLEAN = "clean"
    NOTHING_FOUND = "nothing-found"
    FIXED = "fixed"
    DISMISSED = "dismissed"
    LEFTOVERS = "leftovers"
    INCOMPLETE = "incomplete"


def run_outcome(run: Run) -> RunOutcome:
    undone = run.blind or run.halted or run.trouble or run.filing.unfiled or run.filing.owed
    ours = run.in_scope
    absent = any(item.awaits_agent for item in ours)
    empty = not ours and _has_nothing_to_review(run)
    reviewed = empty or _has_full_review(run)
    if undone or absent or not reviewed or _has_unjudged_fixes(run):
        return RunOutcome.INCOMPLETE
    unseen = run.reviewing.unseen or run.reviewing.missed
    ends = {item.status for item in ours}
    if run.reviewing.refused or not ends <= {Status.FIXED, Status.DISMISSED}:
        return RunOutcome.LEFTOVERS
    if unseen or (run.overlooked and not ours):
        return RunOutcome.INCOMPLETE
    if run.old_must_fix:
        return RunOutcome.LEFTOVERS
    if not ours:
        beside = empty or run.started.change.unseen
        return RunOutcome.NOTHING_FOUND if beside else RunOutcome.CLEAN
    return RunOutcome.FIXED if Status.FIXED in ends else RunOutcome.DISMISSED


def holds_back(run: Run) -> bool:
    """Return whether what is unresolved fails the gate: an item that is severe enough, or an entry
    of a report that was not understood.
    """
    ends = {Status.FIXED, Status.DISMISSED}
    unresolved = [item for item in run.in_scope if item.status not in ends]
    return bool(run.reviewing.refused) or any(
        run.fails_gate(item) for item in (*unresolved, *run.old_must_fix)
    )


def _has_full_review(run: Run) -> bool:
    """Whether all expected reviewers reported, and one of them looked."""
    reviews = run.reviewing.reviews
    looked = any(not review.failed and not review.skipped for review in reviews.values())
    return looked and all(name in reviews for name in run.started.reviewers)


def _has_nothing_to_review(run: Run) -> bool:
    """Whether every reviewer found nothing to look at, and no program file is left unseen: nothing
    changed, or only docs or data.
    """
    reviews = run.reviewing.reviews
    here = bool(reviews) and all(name in reviews for name in run.started.reviewers)
    idle = here and all(each.skipped and not each.failed for each in reviews.values())
    return idle and run.reviewing.surveyed and not (run.reviewing.unseen or run.reviewing.missed)


def _has_unjudged_fixes(run: Run) -> bool:
    """Whether fixes landed that no check could judge."""
    checks = [check for check in run.started.checks if not check.is_gate]
    allowed = checks and run.started.checks_allowed
    fixed = run.find_items(Status.FIXED)
    tested = bool(fixed) and all(has_test(item.proofs) for item in fixed)
    return bool(run.landing.landed and run.checks.unverified and allowed and not tested)
