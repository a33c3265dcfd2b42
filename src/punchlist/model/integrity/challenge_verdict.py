"""Verdict from a challenger's scores: a patch is approved or rejected as a whole, or not judged."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.item.score import THRESHOLD, Score, lowest_scores
from punchlist.model.patch.patch import fix_key


class ChallengeVerdict(NamedTuple):
    """Numbers of approved batches, and moves of rejected items."""

    approved: tuple[int, ...]
    moves: tuple[Move, ...]


def judge_batches(
    batches: Iterable[Batch],
    items: Mapping[int, Item],
    scores: Iterable[Score],
    threshold: int = THRESHOLD,
    *,
    by: str = "challenger",
) -> ChallengeVerdict:
    """Approve a batch if each of its claimed items passes, reject it if one scores too low. Without
    a usable score for an item there is no verdict: it is neither approved nor rejected.
    """
    known = lowest_scores(scores)
    approved: list[int] = []
    moves: list[Move] = []
    for batch in batches:
        claimed = [n for n in batch.items if n in items and items[n].status is Status.CLAIMED]
        usable = [n for n in claimed if n in known and known[n].usable]
        below = [n for n in usable if not known[n].approves(threshold)]
        if claimed and usable == claimed and not below:
            approved.append(batch.number)
        for number, why, evidence in _rejection_reasons(claimed, below, known, threshold):
            ref = _tried_fix(batch, items[number])
            moves.append(Move(number, Fact.REJECTED, by, why, evidence, ref=ref))
    return ChallengeVerdict(tuple(approved), tuple(moves))


def _rejection_reasons(
    claimed: list[int], below: list[int], known: Mapping[int, Score], threshold: int
) -> Iterator[tuple[int, str, str]]:
    """Yield each item, why it goes back, and what would improve it."""
    for number in claimed if below else ():
        if number in below:
            score = known[number]
            yield number, explain_score(score, threshold), "\n".join(score.improvements)
        else:
            noun, others = "items" if len(below) > 1 else "item", ", ".join(map(str, below))
            yield number, f"its patch also holds {noun} {others}, not approved", ""


def explain_score(score: Score, threshold: int) -> str:
    """Return why a score approves nothing, for the fixer."""
    said = f": {score.feedback}" if score.feedback else ""
    return f"scored {score.score} of {threshold} needed{said}"


def _tried_fix(batch: Batch, item: Item) -> str:
    """Return the key of a tool's refused fix, not to be tried again; "" for an agent's."""
    fix = item.current.fix
    return fix_key(fix) if batch.patch is not None and fix is not None else ""
