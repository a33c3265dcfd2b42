"""Dismissals by users: recorded in their run, applied to every later one."""

import time
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath

from msgspec import Struct

from punchlist.adapters.store.lease import Lease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.after.rewrite_reports import apply_dismissal
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.ledger.events import Dismissal, Dismissed, Entry
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run


def load_dismissals(store: SqliteStore, repository: str) -> dict[str, Dismissal]:
    """Return the latest dismissal of each fingerprint."""
    known: dict[str, Dismissal] = {}
    for entry in _sort_entries(store.read_kind("dismissed", repository)):
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


def _sort_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries by time, and those of one run by sequence if its clock was set back."""
    latest: dict[str, float] = {}
    said: list[tuple[float, Entry]] = []
    for entry in entries:
        latest[entry.run] = max(entry.at, latest.get(entry.run, 0))
        said.append((latest[entry.run], entry))
    return [entry for _, entry in sorted(said, key=lambda pair: pair[0])]


class ItemSelection(Struct, frozen=True, kw_only=True):
    """Items by number or range; `rules` and `paths` narrow these, or all items."""

    numbers: tuple[int, ...] = ()
    ranges: tuple[range, ...] = ()
    rules: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    def has_number(self, number: int) -> bool:
        return number in self.numbers or any(number in each for each in self.ranges)

    def matches_item(self, item: Item) -> bool:
        return (
            not self.rules or any(finding.rule in self.rules for finding in item.findings)
        ) and (
            not self.paths
            or any(
                _is_below(finding.spot.path, path)
                for finding in item.findings
                for path in self.paths
            )
        )


def select_items(run: Run, chosen: ItemSelection, *, undo: bool = False) -> list[Item]:
    """Return the selected items that can be dismissed (or restored). Raise UsageError for a wrong
    number, or if there is none.
    """
    _check_numbers(run, chosen.numbers, undo=undo)
    filtered = bool(chosen.rules or chosen.paths)
    everything = filtered and not (chosen.numbers or chosen.ranges)
    items = [
        item
        for item in run.items.values()
        if (everything or chosen.has_number(item.number))
        and chosen.matches_item(item)
        and _can_dismiss(item, chosen, undo=undo)
    ]
    if not items:
        what = "is dismissed" if undo else "can be dismissed"
        raise UsageError(
            f"no item of run {run.id} that was named {what}",
            hint=f"punchlist show {run.id} lists them",
        )
    return items


def make_dismissal(
    run: Run, items: Sequence[Item], saying: Dismissal, *, undo: bool = False
) -> Dismissed:
    """Return the event of a dismissal or its undoing. Raise UsageError without a reason."""
    if not saying.why.strip() and not undo:
        raise UsageError("a dismissal needs a reason", hint='give one with --why "..."')
    moves = (
        _make_restores(run, items, saying) if undo else [_make_move(item, saying) for item in items]
    )
    fingerprints = tuple(item.fingerprint for item in items)
    return Dismissed(
        by=saying.by, why=saying.why, fingerprints=fingerprints, revoked=undo, moves=tuple(moves)
    )


def _check_numbers(run: Run, numbers: Sequence[int], *, undo: bool) -> None:
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


def _can_dismiss(item: Item, chosen: ItemSelection, *, undo: bool) -> bool:
    """Return whether the item can be dismissed (or restored); dismissed again only by number."""
    if item.status is Status.DISMISSED:
        return undo or item.number in chosen.numbers
    return not undo and item.status not in {Status.FIXED, Status.CLAIMED}


def _make_move(item: Item, saying: Dismissal) -> Move:
    return Move(item.number, Fact.DISMISSED, by=saying.by, why=saying.why)


def _make_restores(run: Run, items: Sequence[Item], saying: Dismissal) -> Iterator[Move]:
    """Yield moves to where the run left the items. Those dismissed when it ended stay so: only
    later runs take them up.
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


def _is_below(path: str, asked: str) -> bool:
    folder = normpath(asked)
    return folder in {".", path} or path.startswith(f"{folder}/")


def dismiss_items(
    session: Session, run_id: str, chosen: ItemSelection, saying: Dismissal, *, undo: bool = False
) -> tuple[Run, list[int]]:
    """Somebody who may says that items need no work; later runs remember it, until it is
    undone. Returns which they were.
    """
    found = session.find(run_id)
    with Lease.acquire(
        session.home, found
    ):  # loaded inside: what another just said is part of what this is about
        run = session.load(found)
        items = select_items(run, chosen, undo=undo)
        event = make_dismissal(run, items, saying, undo=undo)
        run = fold(
            run, session.store.append(run.id, "people", f"dismissal {run.seq}", event, time.time())
        )
        apply_dismissal(
            run,
            items,
            event,
            folder=run_folder(session.home, run.id),
            workshop=session.repository_folder,
        )
    return run, [item.number for item in items]
