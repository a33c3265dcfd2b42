"""What a challenger's scores come to: a patch is approved as a whole, or goes back as a whole."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.item.score import THRESHOLD, Score, by_item
from punchlist.model.patch.patch import fix_key


class Judged(NamedTuple):
    """Numbers of the batches that may go on, and the moves of the items that may not."""

    approved: tuple[int, ...]
    moves: tuple[Move, ...]


def judged(
    batches: Iterable[Batch],
    items: Mapping[int, Item],
    scores: Iterable[Score],
    threshold: int = THRESHOLD,
    *,
    by: str = "challenger",
) -> Judged:
    """A batch passes if every one of its claimed items does. Fails closed: without claims there is
    nothing to approve, and an item without a usable score is not approved.
    """
    known = by_item(scores)
    approved: list[int] = []
    moves: list[Move] = []
    for batch in batches:
        claimed = [
            number
            for number in batch.items
            if number in items and items[number].status is Status.CLAIMED
        ]
        below = [
            number
            for number in claimed
            if number not in known or not known[number].approves(threshold)
        ]
        if claimed and not below:
            approved.append(batch.number)
        for number, why, evidence in _reasons(claimed, below, known, threshold):
            moves.append(
                Move(
                    number,
                    Fact.REJECTED,
                    by=by,
                    why=why,
                    evidence=evidence,
                    ref=_tried(batch, items[number]),
                )
            )
    return Judged(tuple(approved), tuple(moves))


def _reasons(
    claimed: list[int], below: list[int], known: Mapping[int, Score], threshold: int
) -> Iterator[tuple[int, str, str]]:
    """By item: why it goes back, and what would make it better."""
    for number in claimed if below else ():
        score = known.get(number)
        if number in below:
            yield number, short_of(score, threshold), "\n".join(score.improvements) if score else ""
        else:
            others = ", ".join(str(each) for each in below)
            yield (
                number,
                (
                    f"its patch also holds {'items' if len(below) > 1 else 'item'} {others}, not"
                    " approved"
                ),
                "",
            )


def short_of(score: Score | None, threshold: int) -> str:
    """Why a score approves nothing, in words a fixer can use."""
    if score is None:
        return "the challenger gave it no score"
    said = f": {score.feedback}" if score.feedback else ""
    if score.score is None:
        return f"the challenger gave it no usable score{said}"
    return f"scored {score.score} of {threshold} needed{said}"


def _tried(batch: Batch, item: Item) -> str:
    """A tool's own fix that was refused is not tried again; an agent may have another idea."""
    return (
        fix_key(item.current.fix)
        if batch.patch is not None and item.current.fix is not None
        else ""
    )
