"""Items of the last run that are not settled, at the places that they have in the files now."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.app.look.review import EditorLook, is_look
from punchlist.app.session import Session
from punchlist.app.start.findings_files import SETTLED, read_moves
from punchlist.model.finding.finding import Spot
from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.model.patch.moved_lines import MovedFile, follow_spot


class PlacedItem(Struct, frozen=True):
    """An item of a run, and where it is in the files now."""

    run: str
    item: Item
    spot: Spot


async def load_open_items(
    session: Session, look: EditorLook, runs: Sequence[Run]
) -> tuple[PlacedItem, ...]:
    """Return the items of the look that are not settled, and those of the last run among `runs`,
    newest first: what the look reports again, or its analyzers no longer report, is left out.
    """
    fresh = [PlacedItem(look.run.id, item, item.current.spot) for item in _list_open(look.run)]
    known = {item.fingerprint for item in look.run.items.values()}
    last = next((run for run in runs if not is_look(run)), None)
    if last is None:
        return tuple(fresh)
    workshop, head = await session.workshop(), look.run.started.change.head
    moves: dict[str, dict[str, MovedFile]] = {}
    older = []
    for item in _list_open(last):
        if item.fingerprint in known or _is_answered(item, look.run):
            continue
        review = last.reviewing.reviews.get(item.current.source)
        seen_at = review.commit if review else last.started.change.head
        if seen_at not in moves:
            moves[seen_at] = await read_moves(workshop, seen_at, head)
        older.append(PlacedItem(last.id, item, follow_spot(item.current.spot, moves[seen_at])))
    return (*fresh, *older)


def _list_open(run: Run) -> Iterator[Item]:
    """Return what counts and is neither fixed nor dismissed."""
    items = run.items.values()
    return (item for item in items if item.status not in SETTLED and not item.left_out)


def _is_answered(item: Item, look: Run) -> bool:
    """Return whether all analyzers that reported the item looked at its file to the end again."""
    reviews = look.reviewing.reviews
    paths = look.started.change.paths
    return all(
        finding.spot.path in paths
        and finding.source in reviews
        and reviews[finding.source].has_seen(finding.spot.path)
        for finding in item.sighted
    )
