"""Merge findings into groups about one defect each; none is lost, severity never goes down."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from enum import StrEnum

from punchlist.model.dedup import near_rule as near
from punchlist.model.dedup import smart_rule as smart
from punchlist.model.finding.finding import Finding

Group = tuple[Finding, ...]


class MergeRule(StrEnum):
    """EXACT: same file, line and category. NEAR: same file, within five lines, much the same title.
    SMART: equivalent rules on overlapping code first, words last.
    """

    EXACT = "exact"
    NEAR = "near"
    SMART = "smart"


def group_findings(findings: Sequence[Finding], rule: MergeRule = MergeRule.SMART) -> list[Group]:
    """Return groups, lead first, sorted by severity, file and line whatever the input's order."""
    ordered = sorted(findings, key=_lead_key)
    clusters = _RULES[rule](ordered)
    groups = [tuple(ordered[index] for index in sorted(cluster)) for cluster in clusters]
    return sorted(groups, key=_group_key)


def _group_key(group: Group) -> tuple[object, ...]:
    lead = group[0]
    return (lead.severity.rank, lead.spot.path, lead.spot.line or 0, _content_key(lead))


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
        finding.impact,
        finding.category,
    )


def _group_exact(findings: Sequence[Finding]) -> list[list[int]]:
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for index, finding in enumerate(findings):
        # Without a line or a category all would be one: rule or title stands in.
        spot, what = finding.spot, finding.category or finding.rule or finding.title
        apart = "" if spot.line is not None else finding.title
        alike[spot.path, spot.line, what, apart].append(index)
    return list(alike.values())


_RULES: dict[MergeRule, Callable[[Sequence[Finding]], list[list[int]]]] = {
    MergeRule.EXACT: _group_exact,
    MergeRule.NEAR: near.find_clusters,
    MergeRule.SMART: smart.find_clusters,
}
