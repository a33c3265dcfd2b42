"""How sure a share is that was counted on few cases: Wilson's interval."""

from math import sqrt

from msgspec import Struct

_Z = 1.96


class Share(Struct, frozen=True):
    """`hits` of `cases`, with the ends of the 95% confidence interval."""

    hits: int
    cases: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.hits} of {self.cases} ({self.low:.0%} to {self.high:.0%})"


def share(hits: int, cases: int) -> Share:
    """Nothing counted says nothing: the interval is everything."""
    if cases <= 0:
        return Share(0, 0, 0.0, 1.0)
    rate = hits / cases
    scale = 1 + _Z**2 / cases
    middle = (rate + _Z**2 / (2 * cases)) / scale
    half = _Z * sqrt(rate * (1 - rate) / cases + _Z**2 / (4 * cases**2)) / scale
    return Share(hits, cases, max(0.0, middle - half), min(1.0, middle + half))
