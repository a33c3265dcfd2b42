"""How a run ended, in one word; nothing is clean that was not looked at."""

from enum import StrEnum

from punchlist.model.item import Status
from punchlist.model.run import Run


class Outcome(StrEnum):
    CLEAN = "clean"
    FIXED = "fixed"
    LEFTOVERS = "leftovers"
    INCOMPLETE = "incomplete"


def outcome(run: Run) -> Outcome:
    looked = any(not review.failed and not review.skipped for review in run.reviews.values())
    if run.blind or run.halted or run.trouble or run.unfiled or run.owed or not looked:
        return Outcome.INCOMPLETE
    ours = run.in_scope
    if not ours and not run.refused:
        return Outcome.CLEAN
    settled = all(item.status in (Status.FIXED, Status.DISMISSED) for item in ours)
    return Outcome.FIXED if settled and not run.refused else Outcome.LEFTOVERS
