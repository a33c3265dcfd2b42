"""What people said needs no work: recorded in the run it was said of, and remembered by every later one."""

from collections.abc import Sequence

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.errors import UsageError
from punchlist.model.events import Dismissal, Dismissed
from punchlist.model.item import Fact, Move, Status
from punchlist.model.run import Run


def dismissals(store: SqliteStore, repository: str) -> dict[str, Dismissal]:
    """By fingerprint, as the last word on each was."""
    known: dict[str, Dismissal] = {}
    for entry in sorted(store.of_kind("dismissed", repository), key=lambda entry: entry.at):
        match entry.event:
            case Dismissed(fingerprints=told, revoked=True):
                known = {fingerprint: saying for fingerprint, saying in known.items() if fingerprint not in told}
            case Dismissed(fingerprints=told, by=by, why=why):
                known |= dict.fromkeys(told, Dismissal(by, why, entry.run))
    return known


def dismissed(run: Run, numbers: Sequence[int], saying: Dismissal, *, undo: bool = False) -> Dismissed:
    """The event of a dismissal, or of its undoing; a fixed item, or one that is not there, is refused."""
    unknown = [number for number in numbers if number not in run.items]
    if unknown:
        raise UsageError(f"run {run.id} has no item {unknown[0]}", hint=f"punchlist show {run.id} lists them")
    items = [run.items[number] for number in dict.fromkeys(numbers)]
    fixed = [item.number for item in items if item.status is Status.FIXED]
    if fixed and not undo:
        raise UsageError(f"item {fixed[0]} is fixed: there is nothing to dismiss", hint=f"punchlist show {run.id} {fixed[0]}")
    if not saying.why.strip() and not undo:
        raise UsageError("a dismissal needs a reason", hint='give one with --why "..."')
    moves = () if undo else tuple(Move(item.number, Fact.DISMISSED, by=saying.by, why=saying.why) for item in items)
    return Dismissed(
        by=saying.by, why=saying.why, fingerprints=tuple(item.fingerprint for item in items), revoked=undo, moves=moves
    )
