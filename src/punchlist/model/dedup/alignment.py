"""Pair equal findings of two versions in order, by their lines."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

_LARGEST_TABLE = 250_000


class LineMap:
    """Maps new lines of a file to old ones, by pairs (new, old) that are certain."""

    def __init__(self, anchors: Sequence[tuple[int, int]]) -> None:
        self._anchors = sorted(set(anchors))

    def old_line(self, line: int) -> int:
        """Return the likely old line of a new line, by the nearest certain pair."""
        if not self._anchors:
            return line
        at = bisect_left(self._anchors, (line, 0))
        near = self._anchors[max(at - 1, 0) : at + 1]
        new, old = min(near, key=lambda anchor: (abs(anchor[0] - line), anchor))
        return line + old - new


def align_lines(new: Sequence[int], old: Sequence[int]) -> list[tuple[int, int]]:
    """Pair indexes of sorted lines: all of the shorter side, in order, at the least distance."""
    if len(new) > len(old):
        return [(n, o) for o, n in align_lines(old, new)]
    if len(new) == len(old):
        return [(n, n) for n in range(len(new))]
    if len(new) * len(old) > _LARGEST_TABLE:
        return _align_greedy(new, old)
    return _align_exact(new, old)


def _align_exact(short: Sequence[int], long: Sequence[int]) -> list[tuple[int, int]]:
    slack = len(long) - len(short)
    # row[k]: the least cost of the first i of short, the i-th at most at long[i - 1 + k].
    row = [0] * (slack + 1)
    taken: list[list[bool]] = []
    for i, line in enumerate(short):
        costs = [row[k] + abs(line - long[i + k]) for k in range(slack + 1)]
        best = list(accumulate(costs, min))
        taken.append([k == 0 or cost < best[k - 1] for k, cost in enumerate(costs)])
        row = best
    pairs: list[tuple[int, int]] = []
    k = slack
    for i in range(len(short) - 1, -1, -1):
        while not taken[i][k]:
            k -= 1
        pairs.append((i, i + k))
    return pairs[::-1]


def _align_greedy(short: Sequence[int], long: Sequence[int]) -> list[tuple[int, int]]:
    """Pair in one pass: each takes the nearest that leaves enough for the rest."""
    pairs: list[tuple[int, int]] = []
    start = 0
    for i, line in enumerate(short):
        last = len(long) - (len(short) - i)
        at = min(max(bisect_left(long, line, start, last + 1), start), last)
        if at > start and abs(long[at - 1] - line) <= abs(long[at] - line):
            at -= 1
        pairs.append((i, at))
        start = at + 1
    return pairs
