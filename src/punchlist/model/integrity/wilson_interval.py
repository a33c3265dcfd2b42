"""Wilson's confidence interval for a share counted on few cases."""

from math import sqrt

from msgspec import Struct

_Z = 1.96


class WilsonShare(Struct, frozen=True):
    """`hits` of `cases`, with the ends of the 95% confidence interval."""

    hits: int
    cases: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.hits} of {self.cases} ({self.low:.0%} to {self.high:.0%})"


def compute_share(hits: int, cases: int) -> WilsonShare:
    """Return the share with its interval; 0 cases give 0 to 1."""
    if cases <= 0:
        return WilsonShare(0, 0, 0.0, 1.0)
    rate = hits / cases
    scale = 1 + _Z**2 / cases
    middle = (rate + _Z**2 / (2 * cases)) / scale
    half = _Z * sqrt(rate * (1 - rate) / cases + _Z**2 / (4 * cases**2)) / scale
    return WilsonShare(hits, cases, max(0.0, middle - half), min(1.0, middle + half))
