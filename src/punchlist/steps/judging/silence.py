"""Looks behind an analyzer's silence: what would it report of the patches without suppressions?"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.intent import is_about_text
from punchlist.model.integrity.new_comments import strip_new_comments
from punchlist.model.integrity.recheck_diff import RecheckDiff
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import FileChange, Patch, splices_between
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World

UNDECLARED = (
    "its settings say neither how its suppressions are switched off (`unsuppressed`) nor which"
    " comments suppress it (`suppressed_by`)"
)


class Silence(Struct, frozen=True):
    """Batches that hide findings, and by analyzer why its silence is no proof."""

    hiding: dict[int, str] = {}
    unproven: dict[str, str] = {}


class Look(Struct, frozen=True):
    """The patched tree as the analyzers saw it: `said` with their suppressions on."""

    batches: Sequence[Batch]
    before: Mapping[str, str]
    said: Sequence[Finding]
    sources: Sequence[str]


async def look_without_suppressions(look: Look, run: Run, world: World) -> Silence:
    """Let each analyzer that looked again look once more, with its suppressions switched off, or
    at the code without the comments that the patches add.
    """
    switched = [source for source in look.sources if source in world.unsuppressed]
    others = [source for source in look.sources if source not in world.unsuppressed]
    uses_agent = any(batch.uses_agent for batch in look.batches)
    named = sorted(world.undeclared.intersection(others)) if uses_agent else []
    unproven = dict.fromkeys(named, UNDECLARED)
    hidden, failed = await _look_switched_off(look, switched, run, world)
    known = await _find_hidden_before(look, hidden, run, world) if hidden else []
    hidden += await _look_without_comments(look, others, run, world)
    diff = RecheckDiff(run, look.batches, look.before, hidden, known)
    return Silence(diff.find_hiding(), unproven | failed)


async def _look_switched_off(
    look: Look, sources: Sequence[str], run: Run, world: World
) -> tuple[list[Finding], dict[str, str]]:
    """Return what is reported only with suppressions off, and why an analyzer failed to look."""
    found: list[Finding] = []
    failed: dict[str, str] = {}
    patches = [run.work.patches[batch.number] for batch in look.batches]
    async with world.trees.open_tree(
        run.landing.tip, patches, pristine=steering_of_base(world)
    ) as tree:
        paths = _list_paths(look, run, tree)
        for source in sources:
            bare = await world.unsuppressed[source].analyze(tree, paths)
            if bare.failed:
                failed[source] = f"it failed with its suppressions switched off: {bare.failed}"
            found += bare.findings
    return subtract_findings(found, look.said), failed


async def _find_hidden_before(
    look: Look, hidden: Iterable[Finding], run: Run, world: World
) -> list[Finding]:
    """Return what the tip itself hides from the same analyzers."""
    found: list[Finding] = []
    async with world.trees.open_tree(run.landing.tip, pristine=steering_of_base(world)) as tree:
        paths = _list_paths(look, run, tree)
        for source in sorted({finding.source for finding in hidden}):
            found += (await world.unsuppressed[source].analyze(tree, paths)).findings
    items = (item for item in run.items.values() if item.status is not Status.FIXED)
    shown = [finding for item in items for finding in item.sighted]
    return subtract_findings(found, [*shown, *run.reviewing.standing])


async def _look_without_comments(
    look: Look, sources: Sequence[str], run: Run, world: World
) -> list[Finding]:
    """Return known findings that are reported again where the patches' new comments are left out;
    findings about comments are not looked for.
    """
    items = [item for item in run.items.values() if item.status is not Status.FIXED]
    sought = {
        _rule_key(finding)
        for item in items
        if not is_about_text([item])
        for finding in item.sighted
        if finding.source in sources
    }
    patches = await _strip_comments(look, run, world) if sought else []
    if not patches:
        return []
    found: list[Finding] = []
    async with world.trees.open_tree(
        run.landing.tip, patches, pristine=steering_of_base(world)
    ) as tree:
        paths = _list_paths(look, run, tree)
        for source in sorted({source for source, _, _ in sought}):
            found += (await world.analyzers[source].analyze(tree, paths)).findings
    return subtract_findings((each for each in found if _rule_key(each) in sought), look.said)


async def _strip_comments(look: Look, run: Run, world: World) -> list[Patch]:
    """Return the patches without the comments that they add; [] if they add none."""
    patches = [run.work.patches[batch.number] for batch in look.batches]
    touched = {path for patch in patches for path in patch.paths}
    async with world.trees.open_tree(run.landing.tip, patches) as tree:
        texts = {path: tree.text(path) for path in sorted(touched)}
    stripped: dict[str, str] = {}
    for path, text in texts.items():
        bare = strip_new_comments(path, look.before.get(path, ""), text or "")
        if bare != (text or ""):
            stripped[path] = bare
    return put_texts(patches, stripped, look.before) if stripped else []


def put_texts(
    patches: Iterable[Patch], texts: Mapping[str, str], before: Mapping[str, str]
) -> list[Patch]:
    """Return the patches, but with these texts for these files."""
    rest = [_leave_out(patch, texts) for patch in patches]
    return [*filter(None, rest), *(_make_patch(path, texts[path], before) for path in texts)]


def _leave_out(patch: Patch, paths: Collection[str]) -> Patch:
    return Patch(
        splices=tuple(splice for splice in patch.splices if splice.path not in paths),
        files=tuple(change for change in patch.files if change.path not in paths),
    )


def _make_patch(path: str, text: str, before: Mapping[str, str]) -> Patch:
    if path in before:
        return Patch(splices=tuple(splices_between(path, before[path], text)))
    raw = text.encode("utf-8", "surrogateescape")
    return Patch(files=(FileChange(path, raw.decode("latin-1")),))


def _list_paths(look: Look, run: Run, tree: Tree) -> list[str]:
    """Return the files that the patches touch, and those of the findings that they aim at."""
    touched = {path for each in look.batches for path in run.work.patches[each.number].paths}
    items = (number for batch in look.batches for number in batch.items)
    wanted = touched | {each.spot.path for number in items for each in run.items[number].sighted}
    return [path for path in tree.files() if path in wanted]


def steering_of_base(world: World) -> Pristine:
    """Return the view in which analyzers are configured as on the base."""
    return Pristine(origin=world.change.base, alone=world.protected.steering)


def subtract_findings(findings: Iterable[Finding], known: Iterable[Finding]) -> list[Finding]:
    """Return the findings that are not among the known ones, each of which counts once."""
    left = Counter(map(_place_key, known))
    found: list[Finding] = []
    for finding in findings:
        key = _place_key(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(finding)
    return found


def _place_key(finding: Finding) -> tuple[str, str, str, int, str]:
    spot = finding.spot
    return (finding.source, finding.rule, spot.path, spot.line or 0, finding.title)


def _rule_key(finding: Finding) -> tuple[str, str, str]:
    return (finding.source, finding.rule, finding.spot.path)
