"""Find what the change brought about outside its lines: findings that the base does not have."""

from collections.abc import Sequence
from typing import NamedTuple

from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.analyzer import Analysis, Analyzer
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World


class WithCaused(NamedTuple):
    """Findings to report, and the indexes of those that the change brought about elsewhere."""

    findings: tuple[Finding, ...]
    caused: tuple[int, ...] = ()


async def find_caused(
    analyzer: Analyzer, analysis: Analysis, paths: Sequence[str] | None, run: Run, world: World
) -> WithCaused:
    """Compare findings outside the changed lines with the base; only if there are some, the
    analyzer looks at the base. Findings beyond the files it was asked about are kept if they are
    new.
    """
    change = world.change
    found = (*analysis.findings, *analysis.beyond)
    outside = [index for index, each in enumerate(found) if not _is_in_change(each, change)]
    if change.kind is ScopeKind.ALL or run.landing.landed or not outside:
        return WithCaused(analysis.findings)
    async with world.trees.open_tree(change.base, pristine=_base_view(world)) as tree:
        there = frozenset(tree.files())
        before = [change.renamed.get(path, path) for path in paths or ()]
        old = await analyzer.analyze(tree, [path for path in before if path in there])
    renames = {old_path: new_path for new_path, old_path in change.renamed.items()}
    known = match_findings((*old.findings, *old.beyond), found, renames)
    inside = len(analysis.findings)
    new = [index for index in outside if index not in known]
    beyond = [found[index] for index in new if index >= inside]
    here = [index for index in new if index < inside]
    return WithCaused((*analysis.findings, *beyond), (*here, *range(inside, inside + len(beyond))))


def _is_in_change(finding: Finding, change: Change) -> bool:
    spot = finding.spot
    return change.covers(spot.path, spot.line, spot.last_line)


def _base_view(world: World) -> Pristine:
    return Pristine(origin=world.change.base, alone=world.protected.steering)
