"""Find what the change brought about outside its lines: findings that the base does not have."""

from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from msgspec import MsgspecError

from punchlist.model.dedup.identity import match_findings
from punchlist.model.finding.finding import Finding
from punchlist.model.ledger.codec import decode, encode
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.analyzer import Analysis, Analyzer
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World


class WithCaused(NamedTuple):
    """Findings to report, and the indexes of those that the change brought about elsewhere."""

    findings: tuple[Finding, ...]
    caused: tuple[int, ...] = ()
    old: tuple[int, ...] = ()
    """Indexes of those that the base has as well, if the run asks for that."""


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
    unknown = change.kind is not ScopeKind.ALL and not run.landing.landed and bool(outside)
    if not found or not (unknown or run.started.new_against):
        return WithCaused(analysis.findings)
    known = await _match_base(analyzer, found, paths, run, world)
    inside = len(analysis.findings)
    old = tuple(index for index in known if index < inside) if run.started.new_against else ()
    if not unknown:
        return WithCaused(analysis.findings, old=old)
    new = [index for index in outside if index not in known]
    beyond = [found[index] for index in new if index >= inside]
    here = [index for index in new if index < inside]
    caused = (*here, *range(inside, inside + len(beyond)))
    return WithCaused((*analysis.findings, *beyond), caused, old)


async def _match_base(
    analyzer: Analyzer,
    found: Sequence[Finding],
    paths: Sequence[str] | None,
    run: Run,
    world: World,
) -> dict[int, int]:
    """Let the analyzer look at the base, unless what it said of it is kept; return which of the
    findings it reports there, too.
    """
    change = world.change
    base = run.started.new_against or change.base
    names = None if paths is None else [change.renamed.get(path, path) for path in paths]
    key = _make_key(analyzer.name, base, names, world)
    old = _load_kept(key, world)
    if old is None:
        old = await _look_at_base(analyzer, base, names, world)
        if key and not (old.failed or old.skipped or old.unread):
            world.cache.put(key, encode(old))
    renames = {old_path: new_path for new_path, old_path in change.renamed.items()}
    return match_findings((*old.findings, *old.beyond), found, renames)


def _make_key(name: str, base: str, names: Sequence[str] | None, world: World) -> str:
    """Return what the cache keeps the analyzer's look at the base by; '' if it must not."""
    known = world.identify(name)
    basis = encode((name, known, base, names, _base_view(world)))
    return f"base-look/{sha256(basis).hexdigest()}" if known else ""


def _load_kept(key: str, world: World) -> Analysis | None:
    kept = world.cache.get(key) if key else None
    with suppress(MsgspecError):
        return decode(kept, Analysis) if kept else None
    return None


async def _look_at_base(
    analyzer: Analyzer, base: str, names: Sequence[str] | None, world: World
) -> Analysis:
    view = _base_view(world)
    async with world.trees.open_tree(base, pristine=view, shared=analyzer.confined) as tree:
        there = frozenset(tree.files())
        before = None if names is None else [path for path in names if path in there]
        return await analyzer.analyze(tree, before)


def _is_in_change(finding: Finding, change: Change) -> bool:
    spot = finding.spot
    return change.covers(spot.path, spot.line, spot.last_line)


def _base_view(world: World) -> Pristine:
    return Pristine(origin=world.change.base, alone=world.protected.steering)
