"""The near rule: same file, at most five lines apart, titles that differ in less than 30%."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from punchlist.model.dedup.union_find import Clusters
from punchlist.model.finding.finding import Finding

_LINES_APART = 5
_TITLE_DISTANCE = 0.3
# How many comparisons a block may cost, in all or per title; one that needs more is a crowd.
_FREE = 20_000
_PER_TITLE = 60
_NEIGHBOURS = 12


class _TitleRun:
    """Findings of one file with one title, close to each other."""

    __slots__ = ("end", "index", "start", "title")

    def __init__(self, index: int, title: str, start: int, end: int) -> None:
        self.index, self.title, self.start, self.end = index, title, start, end

    def is_near(self, other: "_TitleRun") -> bool:
        return self.start <= other.end + _LINES_APART and other.start <= self.end + _LINES_APART


def find_clusters(findings: Sequence[Finding]) -> list[list[int]]:
    """Findings without a line meet all in their file, but do not join what is far apart."""
    found = Clusters(len(findings))
    files: dict[str, list[int]] = defaultdict(list)
    for index, finding in enumerate(findings):
        files[finding.spot.path].append(index)
    for indexes in files.values():
        placed = [i for i in indexes if findings[i].spot.line is not None]
        for block in _split_blocks(list(_join_titles(findings, placed, found))):
            _join_alike(block, found)
        everywhere = [i for i in indexes if findings[i].spot.line is None]
        _join_alike(list(_join_titles(findings, everywhere, found)), found)
        if placed and everywhere:
            leads = {found.find(i) for i in placed}
            _attach_unplaced(findings, {found.find(i) for i in everywhere}, leads, found)
    return found.sets()


def _join_titles(
    findings: Sequence[Finding], placed: Sequence[int], found: Clusters
) -> Iterator[_TitleRun]:
    """Join equal titles, so that only different ones are compared; yield the runs."""
    by_title: dict[str, list[int]] = defaultdict(list)
    for index in placed:
        by_title[findings[index].title].append(index)
    for title, indexes in by_title.items():
        run: _TitleRun | None = None
        for index in sorted(indexes, key=lambda i: (findings[i].spot.line_range, i)):
            start, end = findings[index].spot.line_range
            if run and start <= run.end + _LINES_APART:
                found.join(run.index, index)
                run.end = max(run.end, end)
            else:
                if run:
                    yield run
                run = _TitleRun(index, title, start, end)
        if run:
            yield run


def _split_blocks(runs: list[_TitleRun]) -> Iterator[list[_TitleRun]]:
    """Yield stretches of a file without a gap of more than five lines."""
    block: list[_TitleRun] = []
    end = 0
    for run in sorted(runs, key=lambda run: (run.start, run.end, run.title)):
        if block and run.start > end + _LINES_APART:
            yield block
            block = []
        end = max(end, run.end) if block else run.end
        block.append(run)
    if block:
        yield block


def _join_alike(block: list[_TitleRun], found: Clusters) -> None:
    windows = _find_windows(block)
    if sum(map(len, windows)) <= _pair_budget(len(block)):
        for run, window in zip(block, windows, strict=True):
            for at in _find_alike(run.title, [block[i].title for i in window]):
                found.join(run.index, block[window[at]].index)
    else:
        _join_crowd(block, found)


def _find_windows(block: list[_TitleRun]) -> list[range]:
    """Return for each run (sorted by start) the later ones that begin before or soon after its
    end.
    """
    starts = [run.start for run in block]
    ends = (bisect_right(starts, run.end + _LINES_APART, at) for at, run in enumerate(block, 1))
    return [range(at, end) for at, end in enumerate(ends, 1)]


def _join_crowd(block: list[_TitleRun], found: Clusters) -> None:
    """Join without comparing all pairs: each title takes all like it while the budget lasts, then
    neighbours by spelling. Only a link over several steps can be missed.
    """
    budget = _pair_budget(len(block))
    left = block
    while left and budget > 0:
        run, left = left[0], left[1:]
        budget -= len(left)
        taken = {
            at
            for at in _find_alike(run.title, [other.title for other in left])
            if run.is_near(left[at])
        }
        for at in taken:
            found.join(run.index, left[at].index)
        left = [other for at, other in enumerate(left) if at not in taken]
    _join_neighbours(block, found)


def _join_neighbours(block: list[_TitleRun], found: Clusters) -> None:
    for step in (1, -1):
        ordered = sorted(block, key=lambda run: (run.title[::step], run.start, run.end))
        for at, run in enumerate(ordered):
            lead = found.find(run.index)
            near = [
                other
                for other in ordered[at + 1 : at + 1 + _NEIGHBOURS]
                if lead != found.find(other.index) and run.is_near(other)
            ]
            for index in _find_alike(run.title, [other.title for other in near]) if near else ():
                found.join(run.index, near[index].index)


def _attach_unplaced(
    findings: Sequence[Finding], everywhere: set[int], placed: set[int], found: Clusters
) -> None:
    """Join a finding without a line to the one place with a like title; if several, to none."""
    ties = Clusters(len(findings))
    places = sorted(placed, key=lambda i: (findings[i].title, i))
    titles = [findings[i].title for i in places]
    whole = len(places) * len(everywhere) <= _pair_budget(len(places) + len(everywhere))
    for index in sorted(everywhere):
        title = findings[index].title
        at, end = 0, len(titles)
        if not whole:
            at = max(bisect_left(titles, title) - _NEIGHBOURS, 0)
            end = at + 2 * _NEIGHBOURS
        for alike in _find_alike(title, titles[at:end]):
            ties.join(index, places[at + alike])
    for tied in ties.group_indexes(everywhere | placed):
        if sum(index in placed for index in tied) == 1:
            for index in tied:
                found.join(tied[0], index)


def _pair_budget(titles: int) -> int:
    return max(_FREE, _PER_TITLE * titles)


def _find_alike(title: str, others: Sequence[str]) -> list[int]:
    """Return the indexes of the titles like this one."""
    compare = TitleDistance(title)
    return [at for at, other in enumerate(others) if compare.is_near(other)]


class TitleDistance:
    """Compares one title with others by Levenshtein's distance, a column of bits at a time (Myers
    1999, Hyyro 2003).
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._places: dict[str, int] = defaultdict(int)
        """By character: its places in the title, as bits."""
        for at, char in enumerate(title):
            self._places[char] |= 1 << at

    def is_near(self, other: str) -> bool:
        longer = max(len(self._title), len(other))
        gap = abs(len(self._title) - len(other))
        if not longer or gap / longer >= _TITLE_DISTANCE:
            return not longer
        if sum(char not in self._places for char in set(other)) / longer >= _TITLE_DISTANCE:
            return False
        return self.measure(other) / longer < _TITLE_DISTANCE

    def measure(self, other: str) -> int:
        """Return how many characters must be added, removed or replaced."""
        if not self._title:
            return len(other)
        full = (1 << len(self._title)) - 1
        last = 1 << len(self._title) - 1
        distance, up, down = len(self._title), full, 0
        find = self._places.get
        for char in other:
            match = find(char, 0)
            level = (((match & up) + up) ^ up) | match | down
            rise = down | ~(level | up)
            fall = up & level
            if rise & last:
                distance += 1
            elif fall & last:
                distance -= 1
            rise = rise << 1 | 1
            up = (fall << 1 | ~(level | rise)) & full
            down = rise & level & full
        return distance
