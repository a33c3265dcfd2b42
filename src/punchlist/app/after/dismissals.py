"""What people said needs no work: recorded in the run it was said of, and remembered by every later
one.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath

from msgspec import Struct

from punchlist.adapters.store.lease import Lease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.rewrite_reports import follow
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.ledger.events import Dismissal, Dismissed, Entry
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run


def dismissals(store: SqliteStore, repository: str) -> dict[str, Dismissal]:
    """By fingerprint, as the last word on each was."""
    known: dict[str, Dismissal] = {}
    for entry in _in_order(store.of_kind("dismissed", repository)):
        match entry.event:
            case Dismissed(fingerprints=told, revoked=True):
                known = {
                    fingerprint: saying
                    for fingerprint, saying in known.items()
                    if fingerprint not in told
                }
            case Dismissed(fingerprints=told, by=by, why=why):
                known |= dict.fromkeys(told, Dismissal(by, why, entry.run))
    return known


def _in_order(entries: Iterable[Entry]) -> list[Entry]:
    """As they were said. A clock that is set back does not turn around what was said of one run."""
    latest: dict[str, float] = {}
    said: list[tuple[float, Entry]] = []
    for entry in entries:
        latest[entry.run] = max(entry.at, latest.get(entry.run, 0))
        said.append((latest[entry.run], entry))
    return [entry for _, entry in sorted(said, key=lambda pair: pair[0])]


class Chosen(Struct, frozen=True, kw_only=True):
    """Which items are meant: by number, by ranges of numbers, and of these (or of all) only those
    of a rule or below a path.
    """

    numbers: tuple[int, ...] = ()
    ranges: tuple[range, ...] = ()
    rules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def named(self, number: int) -> bool:
        return number in self.numbers or any(number in each for each in self.ranges)

    def fits(self, item: Item) -> bool:
        return (
            not self.rules or any(finding.rule in self.rules for finding in item.findings)
        ) and (
            not self.paths
            or any(
                _below(finding.spot.path, path) for finding in item.findings for path in self.paths
            )
        )


def meant(run: Run, chosen: Chosen, *, undo: bool = False) -> list[Item]:
    """A number that somebody typed must be right; of a range, a rule or a path those are meant that
    it can be said of.
    """
    _refuse_wrong(run, chosen.numbers, undo=undo)
    filtered = bool(chosen.rules or chosen.paths)
    everything = filtered and not (chosen.numbers or chosen.ranges)
    items = [
        item
        for item in run.items.values()
        if (everything or chosen.named(item.number))
        and chosen.fits(item)
        and _can_be(item, chosen, undo=undo)
    ]
    if not items:
        what = "is dismissed" if undo else "can be dismissed"
        raise UsageError(
            f"no item of run {run.id} that was named {what}",
            hint=f"punchlist show {run.id} lists them",
        )
    return items


def dismissed(
    run: Run, items: Sequence[Item], saying: Dismissal, *, undo: bool = False
) -> Dismissed:
    """The event of a dismissal, or of its undoing."""
    if not saying.why.strip() and not undo:
        raise UsageError("a dismissal needs a reason", hint='give one with --why "..."')
    moves = _restored(run, items, saying) if undo else [_move(item, saying) for item in items]
    fingerprints = tuple(item.fingerprint for item in items)
    return Dismissed(
        by=saying.by, why=saying.why, fingerprints=fingerprints, revoked=undo, moves=tuple(moves)
    )


def _refuse_wrong(run: Run, numbers: Sequence[int], *, undo: bool) -> None:
    for number in numbers:
        item = run.items.get(number)
        if item is None:
            raise UsageError(
                f"run {run.id} has no item {number}", hint=f"punchlist show {run.id} lists them"
            )
        if undo and item.status is not Status.DISMISSED:
            raise UsageError(
                f"item {number} is {item.status}, not dismissed: there is nothing to undo",
                hint=f"punchlist show {run.id} {number}",
            )
        if item.status is Status.FIXED:
            raise UsageError(
                f"item {number} is fixed: there is nothing to dismiss",
                hint=f"punchlist show {run.id} {number}",
            )
        if (
            item.status is Status.CLAIMED
        ):  # no word of a person moves it from there, and it may be fixed in a moment
            raise UsageError(
                f"item {number} is claimed: its fix is not judged yet",
                hint=f"punchlist resume {run.id}",
            )


def _can_be(item: Item, chosen: Chosen, *, undo: bool) -> bool:
    """What is dismissed is dismissed anew, with a new reason, only where its number was given."""
    if item.status is Status.DISMISSED:
        return undo or item.number in chosen.numbers
    return not undo and item.status not in {Status.FIXED, Status.CLAIMED}


def _move(item: Item, saying: Dismissal) -> Move:
    return Move(item.number, Fact.DISMISSED, by=saying.by, why=saying.why)


def _restored(run: Run, items: Sequence[Item], saying: Dismissal) -> Iterator[Move]:
    """Back to where the run had left it. What was dismissed when the run ended ended so: only later
    runs take it up.
    """
    for item in items:
        if not run.ended or item.issue or item.number in run.filing.listed:
            yield Move(
                item.number,
                Fact.RESTORED,
                by=saying.by,
                why=saying.why or "the dismissal was taken back",
            )
            if item.issue:
                yield Move(
                    item.number,
                    Fact.FILED,
                    by=saying.by,
                    why="its issue is open again",
                    ref=item.issue,
                )


def _below(path: str, asked: str) -> bool:
    folder = normpath(asked)
    return folder in {".", path} or path.startswith(f"{folder}/")


def dismiss_items(
    session: Session, run_id: str, chosen: Chosen, saying: Dismissal, *, undo: bool = False
) -> tuple[Run, list[int]]:
    """Somebody who may says that items need no work; later runs remember it, until it is
    undone. Returns which they were.
    """
    found = session.find(run_id)
    with Lease.take(
        session.home, found
    ):  # loaded inside: what another just said is part of what this is about
        run = session.load(found)
        items = meant(run, chosen, undo=undo)
        event = dismissed(run, items, saying, undo=undo)
        run = fold(
            run, session.store.append(run.id, "people", f"dismissal {run.seq}", event, time.time())
        )
        follow(
            run,
            items,
            event,
            folder=run_folder(session.home, run.id),
            workshop=session.repository_folder,
        )
    return run, [item.number for item in items]
