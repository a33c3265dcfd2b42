"""Merge findings into groups about one defect each; none is lost, severity never goes down."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum

from msgspec import Struct

from punchlist.model.dedup import near_rule as near
from punchlist.model.dedup import smart_rule as smart
from punchlist.model.finding.finding import Finding
from punchlist.model.finding.severity import worst_severity

Group = tuple[Finding, ...]


class MergeRule(StrEnum):
    """EXACT: same file, line and category. NEAR: same file, within five lines, much the same title.
    SMART: equivalent rules on overlapping code first, words last.
    """

    EXACT = "exact"
    NEAR = "near"
    SMART = "smart"


class Counts(Struct, frozen=True, kw_only=True):
    """`merged` went into another's group; `escalated` groups are worse than some finding in them
    was reported.
    """

    reported: int
    unique: int
    merged: int
    escalated: int
    by_source: dict[str, int]
    by_severity: dict[str, int]


def group_findings(findings: Sequence[Finding], rule: MergeRule = MergeRule.SMART) -> list[Group]:
    """Return groups, lead first, sorted by severity, file and line whatever the input's order."""
    ordered = sorted(findings, key=_lead_key)
    clusters = [
        tuple(ordered[index] for index in sorted(cluster)) for cluster in _RULES[rule](ordered)
    ]
    return sorted(
        clusters,
        key=lambda group: (
            group[0].severity.rank,
            group[0].spot.path,
            group[0].spot.line or 0,
            _content_key(group[0]),
        ),
    )


def count_groups(groups: Sequence[Group]) -> Counts:
    findings = [finding for group in groups for finding in group]
    severities = Counter(
        worst_severity([finding.severity for finding in group]) for group in groups
    )
    return Counts(
        reported=len(findings),
        unique=len(groups),
        merged=len(findings) - len(groups),
        escalated=sum(len({finding.severity for finding in group}) > 1 for group in groups),
        by_source=dict(sorted(Counter(finding.source for finding in findings).items())),
        by_severity={
            str(severity): severities[severity]
            for severity in sorted(severities, key=lambda s: s.rank)
        },
    )


def _lead_key(finding: Finding) -> tuple[object, ...]:
    """Sort key of leads: worst, most precise (line, rule, short extent, column), then content."""
    spot = finding.spot
    extent = (spot.last_line or 0) - (spot.line or 0)
    return (
        finding.severity.rank,
        spot.line is None,
        not finding.rule,
        extent,
        spot.column is None,
        spot.path,
        _content_key(finding),
    )


def _content_key(finding: Finding) -> tuple[object, ...]:
    """Sort key of the other fields, so that the input's order never matters."""
    spot = finding.spot
    return (
        spot.line or 0,
        spot.column or 0,
        finding.source,
        finding.rule,
        finding.title,
        finding.id,
        finding.detail,
        finding.category,
    )


def _group_exact(findings: Sequence[Finding]) -> list[list[int]]:
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index, finding in enumerate(findings):
        # What lacks a line or a category would be one with everything else that does; its rule or
        # title stands in.
        what = finding.category or finding.rule or finding.title
        alike[
            finding.spot.path,
            finding.spot.line,
            what,
            "" if finding.spot.line is not None else finding.title,
        ].append(index)
    return list(alike.values())


_RULES: dict[MergeRule, Callable[[Sequence[Finding]], list[list[int]]]] = {
    MergeRule.EXACT: _group_exact,
    MergeRule.NEAR: near.find_clusters,
    MergeRule.SMART: smart.find_clusters,
}
