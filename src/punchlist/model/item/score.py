"""A challenger's score of one item; the number decides, not the word beside it."""

from collections.abc import Iterable

from msgspec import Struct

THRESHOLD = 90
"""The score from which a fix is approved."""
_TOP = 100


class Score(Struct, frozen=True, omit_defaults=True):
    """`score` is None if the answer has no usable one; then `feedback` says why."""

    item: int
    score: int | None = None
    status: str = ""
    feedback: str = ""
    improvements: tuple[str, ...] = ()
    correctness: int | None = None
    safety: int | None = None
    style: int | None = None

    @property
    def usable(self) -> bool:
        """Whether it is a number from 0 to 100; anything else is no verdict."""
        return self.score is not None and 0 <= self.score <= _TOP

    def approves(self, threshold: int = THRESHOLD) -> bool:
        """Whether the score reaches the threshold; a missing or out-of-range one does not."""
        return self.usable and self.score is not None and self.score >= threshold


def lowest_scores(scores: Iterable[Score]) -> dict[int, Score]:
    """Return the lowest score of each item; one that is unusable is lower than any approval, and
    higher than a rejection.
    """
    lowest: dict[int, Score] = {}
    for score in scores:
        known = lowest.get(score.item)
        if known is None or _score_value(score) < _score_value(known):
            lowest[score.item] = score
    return lowest


def _score_value(score: Score) -> float:
    return score.score if score.usable and score.score is not None else THRESHOLD - 0.5
