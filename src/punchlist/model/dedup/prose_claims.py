"""Merge claims in prose, of people and agents, that say the same of the same code."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate

from punchlist.model.dedup.rule_equivalence import is_shared, rule_kind
from punchlist.model.dedup.similarity import ClaimSimilarity, are_distinct
from punchlist.model.dedup.union_find import Clusters
from punchlist.model.dedup.vocabulary import split_words
from punchlist.model.finding.finding import Finding

_LINES_APART = 5
_ALIKE = 0.34
"""How alike claims about one file must be if one has no line; stricter than bench/duplicates.py
finds.
"""
_ALIKE_HERE = 0.30
"""The same where both point at the same lines."""
_ALIKE_NEARBY = 0.45
"""Where they point at lines close by."""
_ALIKE_RULES = 0.6
"""Where both are of rules, on one line, and nothing is known about those rules."""
_MOST_TEXT = 600


def join_equal(findings: Sequence[Finding], leads: Iterable[int], found: Clusters) -> None:
    """Join equal titles without a rule in one place of a file; unclear cases stay apart."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index in leads:
        finding = findings[index]
        if not finding.rule:
            alike[finding.spot.path, _title_words(finding)].append(index)
    for indexes in alike.values():
        if len(indexes) > 1:
            _join_places(findings, indexes, found)


def join_quoted(findings: Sequence[Finding], leads: Iterable[int], found: Clusters) -> None:
    """Join claims with the title of a rule's finding on the same lines: people and bots repeat what
    a tool says. If it can be one of several findings, it stays apart.
    """
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index in leads:
        if findings[index].spot.line is not None:
            alike[findings[index].spot.path, _title_words(findings[index])].append(index)
    for indexes in alike.values():
        claims = [index for index in indexes if not findings[index].rule]
        if not 0 < len(claims) < len(indexes):
            continue
        ruled = _LineIndex(findings, [index for index in indexes if findings[index].rule])
        for index in claims:
            there = ruled.find_only(*findings[index].spot.line_range)
            if there is None or findings[there].source == findings[index].source:
                continue
            one, two = sorted((found.find(index), found.find(there)))
            if one != two:
                found.join(one, two)


class _LineIndex:
    """Findings by the lines that they cover. Those that touch a range begin before its end and do
    not end before its start: two counts in sorted lists say how many, and two sums which one.
    """

    def __init__(self, findings: Sequence[Finding], indexes: Iterable[int]) -> None:
        placed = [(*findings[index].spot.line_range, index) for index in indexes]
        self._firsts, self._started = _sum_up((first, index) for first, _, index in placed)
        self._lasts, self._ended = _sum_up((last, index) for _, last, index in placed)

    def find_only(self, first: int, last: int) -> int | None:
        """Return the one that touches these lines; None if none or several do."""
        started, ended = bisect_right(self._firsts, last), bisect_left(self._lasts, first)
        return self._started[started] - self._ended[ended] if started - ended == 1 else None


def _sum_up(pairs: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the lines in order, and the sums of the indexes of the first 0, 1, 2 ... of them."""
    ordered = sorted(pairs)
    lines = [line for line, _ in ordered]
    return lines, list(accumulate((index for _, index in ordered), initial=0))


def _join_places(findings: Sequence[Finding], indexes: list[int], found: Clusters) -> None:
    for apart in (0, _LINES_APART):
        placed = sorted(
            {found.find(i) for i in indexes if findings[found.find(i)].spot.line is not None}
        )
        for stretch in _split_stretches(findings, placed, apart):
            if _is_same([findings[i] for i in stretch], apart):
                _join_all(stretch, found)
    everywhere = [i for i in indexes if findings[i].spot.line is None]
    statements = {(findings[i].source, findings[i].detail) for i in everywhere}
    if len(statements) == len({findings[i].source for i in everywhere}):
        _join_all(everywhere, found)
    leads = sorted({found.find(i) for i in indexes})
    if sum(findings[i].spot.line is not None for i in leads) == 1 and _is_same(
        [findings[i] for i in leads], 0
    ):
        _join_all(leads, found)


def _is_same(findings: Sequence[Finding], apart: int) -> bool:
    """Whether no reviewer reports it twice, except for overlapping lines."""
    by_source: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for finding in findings:
        by_source[finding.source].append(finding.spot.line_range)
    if apart:
        return len(by_source) == len(findings)
    return all(
        max(first for first, _ in own) <= min(last for _, last in own) for own in by_source.values()
    )


def _split_stretches(
    findings: Sequence[Finding], placed: Sequence[int], apart: int
) -> Iterator[list[int]]:
    stretch: list[int] = []
    end = 0
    for index in sorted(placed, key=lambda i: (*findings[i].spot.line_range, i)):
        first, last = findings[index].spot.line_range
        if stretch and first > end + apart:
            yield stretch
            stretch = []
        end = max(end, last) if stretch else last
        stretch.append(index)
    if stretch:
        yield stretch


def join_similar(findings: Sequence[Finding], found: Clusters) -> None:
    """Join different titles, the most alike first; never of one reviewer or of different rules."""
    files: dict[str, list[int]] = defaultdict(list)
    for index in found.leads():
        files[findings[index].spot.path].append(index)
    talking = {
        path: leads for path, leads in files.items() if _is_comparable([findings[i] for i in leads])
    }
    if not talking:
        return
    batch = [index for leads in talking.values() for index in leads]
    position = {index: at for at, index in enumerate(batch)}
    likeness = ClaimSimilarity([_claim_text(findings[index]) for index in batch])
    edges: list[tuple[float, int, int]] = []
    for leads in talking.values():
        for a, b, score in likeness.find_pairs(
            [position[i] for i in leads],
            lambda a, b: _required_score(findings[batch[a]], findings[batch[b]]),
        ):
            if not _is_distinct(findings[batch[a]], findings[batch[b]]):
                edges.append((-score, min(batch[a], batch[b]), max(batch[a], batch[b])))
    _join_best(findings, sorted(edges), found)


def _join_best(
    findings: Sequence[Finding], edges: Sequence[tuple[float, int, int]], found: Clusters
) -> None:
    touched = {index for _, a, b in edges for index in (a, b)}
    infos = {
        index: _ClusterInfo(findings[i] for i in members)
        for index, members in found.members(touched).items()
    }
    for _, a, b in edges:
        one, two = sorted((found.find(a), found.find(b)))
        if one != two and infos[one].can_merge(infos[two]):
            infos[one].merge(infos.pop(two))
            found.join(one, two)


class _ClusterInfo:
    """Sources, titles, rule kinds and lines of a group."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.sources: set[str] = set()
        self.kinds: set[str] = set()
        self.titles: set[str] = set()
        self.first, self.last = 0, 0
        for finding in findings:
            self.sources.add(finding.source)
            self.titles.add(finding.title)
            self.kinds.update([rule_kind(finding.rule)] if finding.rule else [])
            if finding.spot.line is not None:
                self._widen_range(*finding.spot.line_range)

    def can_merge(self, other: "_ClusterInfo") -> bool:
        if self.sources & other.sources:
            return False
        if self.kinds and other.kinds and self.kinds != other.kinds:
            return False
        gap = max(self.first - other.last, other.first - self.last)
        if self.last and other.last and gap > _LINES_APART:
            return False
        return not any(are_distinct(mine, yours) for mine in self.titles for yours in other.titles)

    def merge(self, other: "_ClusterInfo") -> None:
        self.sources |= other.sources
        self.titles |= other.titles
        self.kinds |= other.kinds
        if other.last:
            self._widen_range(other.first, other.last)

    def _widen_range(self, first: int, last: int) -> None:
        self.first = min(self.first, first) if self.last else first
        self.last = max(self.last, last)


def _is_comparable(findings: Sequence[Finding]) -> bool:
    return len({finding.source for finding in findings}) > 1 and any(
        not f.rule or not is_shared(f.rule) for f in findings
    )


def _required_score(a: Finding, b: Finding) -> float:
    """Return how alike two findings must be to be merged; 2 (impossible) if they must not be."""
    if a.source == b.source:
        return 2
    if a.rule and b.rule:
        unknown = not is_shared(a.rule) and not is_shared(b.rule)
        return _ALIKE_RULES if unknown and a.spot.line == b.spot.line is not None else 2
    if a.spot.line is None or b.spot.line is None:
        return _ALIKE
    (first, last), (start, end) = a.spot.line_range, b.spot.line_range
    gap = max(start - last, first - end)
    return _ALIKE_HERE if gap <= 0 else _ALIKE_NEARBY if gap <= _LINES_APART else 2


def _is_distinct(a: Finding, b: Finding) -> bool:
    return _title_words(a) == _title_words(b) or are_distinct(a.title, b.title)


def _claim_text(finding: Finding) -> str:
    return f"{finding.title}\n{finding.detail}"[:_MOST_TEXT]


def _title_words(finding: Finding) -> tuple[str, ...]:
    return tuple(split_words(finding.title)) or (finding.title,)


def _join_all(indexes: Sequence[int], found: Clusters) -> None:
    for index in indexes[1:]:
        found.join(indexes[0], index)
