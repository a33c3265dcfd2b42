"""Tells which new findings the tools' own safe fixes remove again, as the next round will."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from punchlist.model.finding.finding import Finding, Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.integrity.recheck_diff import NewFinding, RecheckDiff
from punchlist.model.integrity.suppressions import find_syntax_error
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch, ReservedSpans, apply_splices, fix_key, has_overlap
from punchlist.ports.world import World
from punchlist.steps.judging.causes import Name, find_gone
from punchlist.steps.judging.silence import put_texts, steering_of_base
from punchlist.steps.support.batching import current_fix_key

PASSES = 3
"""How often fixes are applied on top of each other."""


async def find_cured(
    seen: RecheckDiff, worse: Sequence[NewFinding], run: Run, world: World
) -> set[Name]:
    """Return those of the new findings that are gone, with nothing else in their place, once the
    safe fixes that the analyzers propose for the patched files are applied, too.
    """
    news = [each for each in worse if _can_wait(each, seen)]
    texts = await _read_patched({each.finding.spot.path for each in news}, seen, run, world)
    sources = sorted({each.finding.source for each in news})
    base = [each for each in seen.after if each.spot.path in texts and each.source in sources]
    refused = _list_refused(seen, run)
    found: Sequence[Finding] = base
    for _ in range(PASSES):
        fixed = {path: _apply_fixes(path, texts[path], found, refused) for path in texts}
        if fixed == texts:
            break
        texts = fixed
        said = await _look_at(texts, sources, seen, run, world)
        if said is None:
            return set()
        found = said
    before, after = Counter(map(_name, base)), Counter(map(_name, found))
    gone = find_gone((_name(each.finding) for each in news), before, after)
    return {
        each.name
        for each in news
        if _name(each.finding) in gone and not _has_more(each.finding.spot.path, base, found)
    }


def _can_wait(news: NewFinding, seen: RecheckDiff) -> bool:
    """Return whether it may be there until the next round: nothing critical, and no agent's."""
    numbers = seen.find_touching(news.finding.spot.path)
    agents = any(seen.batches[number].uses_agent for number in numbers)
    return news.finding.severity is not Severity.CRITICAL and bool(numbers) and not agents


def _list_refused(seen: RecheckDiff, run: Run) -> set[str]:
    """Return the fixes that were tried and refused, in earlier rounds or in this one."""
    known = {key for item in run.items.values() for key in item.rejected}
    out = [batch for number, batch in run.work.batches.items() if number not in seen.batches]
    return known | {current_fix_key(run.items[item]) for batch in out for item in batch.items}


async def _read_patched(
    paths: Collection[str], seen: RecheckDiff, run: Run, world: World
) -> dict[str, str]:
    if not paths:
        return {}
    patches = [run.work.patches[number] for number in seen.batches]
    async with world.trees.open_tree(run.landing.tip, patches) as tree:
        return {path: tree.text(path) or "" for path in sorted(paths)}


async def _look_at(
    texts: Mapping[str, str], sources: Sequence[str], seen: RecheckDiff, run: Run, world: World
) -> list[Finding] | None:
    """Return what the analyzers report in these files with these texts; None if one failed."""
    patches = [run.work.patches[number] for number in seen.batches]
    shown = put_texts(patches, texts, seen.before)
    found: list[Finding] = []
    async with world.trees.open_tree(
        run.landing.tip, shown, pristine=steering_of_base(world)
    ) as tree:
        for source in sources:
            said = await world.analyzers[source].analyze(tree, sorted(texts))
            if said.failed:
                return None
            found += said.findings
    return found


def _apply_fixes(path: str, text: str, found: Sequence[Finding], refused: Collection[str]) -> str:
    """Return the text with the safe fixes that do not overlap."""
    taken = ReservedSpans()
    patches: list[Patch] = []
    for fix in (finding.fix for finding in found if finding.spot.path == path):
        if fix is None or fix.safety is not Safety.SAFE or fix_key(fix) in refused:
            continue
        patch = Patch(splices=fix.splices)
        if patch.paths == (path,) and not has_overlap(fix.splices) and taken.admits(patch):
            taken.reserve(patch)
            patches.append(patch)
    try:
        fixed = apply_splices(text, [splice for patch in patches for splice in patch.splices])
    except ValueError:
        return text
    return text if find_syntax_error(path, fixed) else fixed


def _name(finding: Finding) -> Name:
    """Return the name of a finding, whatever its line."""
    return (finding.spot.path, finding.source, finding.rule, finding.title, 0)


def _has_more(path: str, before: Sequence[Finding], after: Sequence[Finding]) -> bool:
    """Return whether a rule is broken more often in the file than before."""
    old = Counter((each.source, each.rule) for each in before if each.spot.path == path)
    new = Counter((each.source, each.rule) for each in after if each.spot.path == path)
    return bool(new - old)
