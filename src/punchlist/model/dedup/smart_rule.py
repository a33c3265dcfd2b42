"""The smart rule joins equivalent rules on one line, then equal claims, then similar ones."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import combinations

from punchlist.model.dedup.prose_claims import join_equal, join_quoted, join_similar
from punchlist.model.dedup.rule_equivalence import rule_kind
from punchlist.model.dedup.union_find import Clusters
from punchlist.model.dedup.vocabulary import extract_names, last_parts
from punchlist.model.finding.finding import Finding


def find_clusters(findings: Sequence[Finding]) -> list[list[int]]:
    """Return clusters of indexes. Findings come in order of precedence: the smallest index leads.

    Repeats over leads until nothing merges, so that merging again changes nothing.
    """
    found = Clusters(len(findings))
    left = len(findings) + 1
    while len(leads := found.leads()) < left:
        left = len(leads)
        _join_rules(findings, leads, found)
        join_equal(findings, found.leads(), found)
        join_quoted(findings, found.leads(), found)
        join_similar(findings, found)
    return found.sets()


def _join_rules(findings: Sequence[Finding], leads: Iterable[int], found: Clusters) -> None:
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index in leads:
        finding = findings[index]
        if finding.rule:
            alike[finding.spot.path, finding.spot.line, rule_kind(finding.rule)].append(index)
    for bucket in alike.values():
        if len(bucket) > 1:
            for key in (_repeat_key, _column_key, _names_key, _path_key):
                _join_bucket(findings, bucket, key, found)


def _join_bucket(
    findings: Sequence[Finding], bucket: list[int], key: "_Key", found: Clusters
) -> None:
    """Join findings with equal keys, unless that merges two findings of one tool."""
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index in sorted({found.find(index) for index in bucket}):
        value = key(findings[index])
        if value is not None:
            alike[value].append(index)
    members: dict[int, list[int]] = defaultdict(list)
    for index in bucket:
        members[found.find(index)].append(index)
    for same in alike.values():
        joined = [findings[i] for index in same for i in members[index]]
        if len(same) > 1 and (key is _repeat_key or _has_one_each(joined)):
            for index in same[1:]:
                found.join(same[0], index)


def _has_one_each(findings: Sequence[Finding]) -> bool:
    voices = {_repeat_key(finding) for finding in findings}
    if len({finding.source for finding in findings}) != len(voices):
        return False
    return all(_is_compatible(a, b) for a, b in combinations(findings, 2))


def _is_compatible(a: Finding, b: Finding) -> bool:
    """Whether neither names nor covered code show that they differ."""
    one, two = a.spot, b.spot
    if one.column is not None and one.column == two.column:
        return True
    mine, yours = last_parts(a.title), last_parts(b.title)
    if mine and yours:
        return bool(mine & yours)
    if one.end_column is None or two.end_column is None:
        return True
    if one.last_line != one.line or two.last_line != two.line:
        return True
    return (one.column or 0) < two.end_column and (two.column or 0) < one.end_column


_Key = Callable[[Finding], Hashable]


def _repeat_key(finding: Finding) -> Hashable:
    return (finding.source, finding.rule, finding.spot, finding.title)


def _column_key(finding: Finding) -> Hashable:
    return finding.spot.column


def _names_key(finding: Finding) -> Hashable:
    return extract_names(finding.title) or None


def _path_key(finding: Finding) -> Hashable:
    return finding.spot.path
