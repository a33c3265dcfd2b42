"""Dismissals by users: recorded in their run, applied to every later one."""

import time
from collections.abc import Iterable, Iterator, Sequence
from posixpath import normpath

from msgspec import Struct

from punchlist.adapters.reports import WRITTEN
from punchlist.app.session import Session
from punchlist.app.start.tracker import TrackerPlace, trackers_of
from punchlist.errors import ToolError, UsageError
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.events import Dismissed, Entry
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.ports.store import Ledgers
from punchlist.settings import decode_settings


def load_dismissals(store: Ledgers, repository: RepositoryKey) -> dict[str, Dismissal]:
    """Return the latest dismissal of each fingerprint."""
    known: dict[str, Dismissal] = {}
    for entry in _sort_entries(store.read_kind("dismissed", repository.path, repository.identity)):
        match entry.event:
            case Dismissed(fingerprints=fingerprints, revoked=True):
                known = {name: known[name] for name in known if name not in fingerprints}
            case Dismissed(fingerprints=fingerprints, by=by, why=why):
                known |= dict.fromkeys(fingerprints, Dismissal(by, why, entry.run))
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

    def matches_item(self, item: Item) -> bool:
        if self.rules and not any(finding.rule in self.rules for finding in item.findings):
            return False
        places = [finding.spot.path for finding in item.findings]
        return not self.paths or any(
            _is_below(place, path) for place in places for path in self.paths
        )


def select_items(run: Run, chosen: ItemSelection, *, undo: bool = False) -> list[Item]:
    """Return the selected items that can be dismissed (or restored). Raise UsageError for a wrong
    number, or if there is none.
    """
    _check_numbers(run, chosen.numbers, undo=undo)
    everything = (chosen.rules or chosen.paths) and not (chosen.numbers or chosen.ranges)
    named = frozenset(chosen.numbers)
    items = [
        item
        for item in run.items.values()
        if (everything or item.number in named or _is_within(item, chosen.ranges))
        and chosen.matches_item(item)
        and _can_dismiss(item, named, undo=undo)
    ]
    if not items:
        what = "is dismissed" if undo else "can be dismissed"
        raise UsageError(
            f"no item of run {run.id} that was named {what}",
            hint=f"`punchlist show {run.id}` lists them",
        )
    return items


def make_dismissal(
    run: Run, items: Sequence[Item], saying: Dismissal, *, undo: bool = False
) -> Dismissed:
    """Return the event of a dismissal or its undoing. Raise UsageError without a reason."""
    if not saying.why.strip() and not undo:
        raise UsageError("a dismissal needs a reason", hint='give one with --why "..."')
    by, why = saying.by, saying.why
    moves = [Move(item.number, Fact.DISMISSED, by=by, why=why) for item in items]
    if undo:
        moves = list(_make_restores(run, items, saying))
    fingerprints = tuple(item.fingerprint for item in items)
    return Dismissed(by=by, why=why, fingerprints=fingerprints, revoked=undo, moves=tuple(moves))


def _check_numbers(run: Run, numbers: Sequence[int], *, undo: bool) -> None:
    for number in numbers:
        item = run.items.get(number)
        show = f"punchlist show {run.id}"
        if item is None:
            raise UsageError(f"run {run.id} has no item {number}", hint=f"{show} lists them")
        if undo and item.status is not Status.DISMISSED:
            raise UsageError(
                f"item {number} is {item.status}, not dismissed: there is nothing to undo",
                hint=f"{show} {number}",
            )
        if item.status is Status.FIXED:
            raise UsageError(
                f"item {number} is fixed: there is nothing to dismiss", hint=f"{show} {number}"
            )
        if item.status is Status.CLAIMED:  # it may be fixed in a moment
            raise UsageError(
                f"item {number} is claimed: its fix is not judged yet",
                hint=f"punchlist resume {run.id}",
            )


def _is_within(item: Item, ranges: Iterable[range]) -> bool:
    return any(item.number in each for each in ranges)


def _can_dismiss(item: Item, named: frozenset[int], *, undo: bool) -> bool:
    """Return whether the item can be dismissed (or restored); dismissed again only by number."""
    if item.status is Status.DISMISSED:
        return undo or item.number in named
    return not undo and item.status not in {Status.FIXED, Status.CLAIMED}


def _make_restores(run: Run, items: Sequence[Item], saying: Dismissal) -> Iterator[Move]:
    """Yield moves to where the run left the items. Those dismissed when it ended stay so: only
    later runs take them up.
    """
    by, why = saying.by, saying.why or "the dismissal was taken back"
    reopened = "its issue is open again"
    for item in items:
        if not run.ended or item.issue or item.number in run.filing.listed:
            yield Move(item.number, Fact.RESTORED, by=by, why=why)
            if item.issue:
                yield Move(item.number, Fact.FILED, by=by, why=reopened, ref=item.issue)


def _is_below(path: str, folder: str) -> bool:
    folder = normpath(folder)
    return folder in {".", path} or path.startswith(f"{folder}/")


def dismiss_items(
    session: Session, run_id: str, chosen: ItemSelection, saying: Dismissal, *, undo: bool = False
) -> tuple[Run, list[int]]:
    """Dismiss items, also for later runs, or undo that. Return the run and the items' numbers."""
    found = session.find(run_id)
    with session.state.leases.acquire(found):
        run = session.load(found)  # inside the lease: with what other processes recorded
        items = select_items(run, chosen, undo=undo)
        event = make_dismissal(run, items, saying, undo=undo)
        run = fold(
            run, session.store.append(run.id, "people", f"dismissal {run.seq}", event, time.time())
        )
        trouble = _update_issues(session, run, items, event)
        rewrite_reports(session, run)
    if trouble:
        raise ToolError(f"it is recorded, but its issue was not changed: {trouble}")
    return run, [item.number for item in items]


def _update_issues(session: Session, run: Run, items: Sequence[Item], event: Dismissed) -> str:
    """Close or reopen the issues of the items; return what went wrong."""
    track = decode_settings(run.started.settings).settings.track
    fingerprints = {item.fingerprint for item in items}
    refs = (item.issue for item in items)
    place = TrackerPlace(session.repository_folder, session.required_checkout.user_git)
    trouble = []
    for tracker in trackers_of(track, refs, place):
        try:
            if event.revoked:
                tracker.reopen(fingerprints)
            else:
                tracker.close(fingerprints, event.by, event.why)
        except ToolError as error:
            trouble.append(f"{tracker.name}: {error}")
    return "; ".join(trouble)


def rewrite_reports(session: Session, run: Run) -> None:
    """Write the reports of an ended run once more, with what was recorded since."""
    if not (run.ended and run.filing.artifacts):
        return
    artifacts = session.artifacts(run.id)
    for name, render in WRITTEN.items():
        if content := render(run):
            artifacts.write(name, content)
