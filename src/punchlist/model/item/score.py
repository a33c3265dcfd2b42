"""A challenger's judgement of one item: the number decides, whatever word stands beside it."""

from collections.abc import Iterable

from msgspec import Struct

THRESHOLD = 90
"""The score from which a fix is approved."""
_TOP = 100


class Score(Struct, frozen=True, omit_defaults=True):
    """`score` is None where nothing usable was said; then `feedback` says what was wrong with the
    answer.
    """

    item: int
    score: int | None = None
    status: str = ""
    feedback: str = ""
    improvements: tuple[str, ...] = ()
    correctness: int | None = None
    safety: int | None = None
    style: int | None = None

    def approves(self, threshold: int = THRESHOLD) -> bool:
        """Fails closed: what is missing or out of range approves nothing."""
        return self.score is not None and 0 <= self.score <= _TOP and self.score >= threshold


def by_item(scores: Iterable[Score]) -> dict[int, Score]:
    """One score an item; of several the lowest counts, and none is lower than a number."""
    lowest: dict[int, Score] = {}
    for score in scores:
        known = lowest.get(score.item)
        if known is None or _worth(score) < _worth(known):
            lowest[score.item] = score
    return lowest


def _worth(score: Score) -> int:
    return -1 if score.score is None else score.score
