"""Runs the analyzers on the patched tree: are the findings gone, and are there new ones?"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.recheck_diff import NewFinding, RecheckDiff
from punchlist.model.integrity.suppressions import is_same_program
from punchlist.model.item.batch import Batch
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Rechecked
from punchlist.model.ledger.run import LatestReview, Run
from punchlist.model.patch.patch import Patch, combine_patches
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.judging.causes import Name, find_causes
from punchlist.steps.judging.cures import find_cured
from punchlist.steps.judging.gates.culprits import find_gate_culprits
from punchlist.steps.judging.refutations import recall_refutations
from punchlist.steps.judging.silence import Look, look_without_suppressions
from punchlist.steps.support.project_context import select_files

NO_OP = "only comments, formatting or the names of locals would change"
RESTLESS = "the analyzers had something new to say each time a fix was taken out"
TURNS = 12
"""Looks at all batches before everything in the files of new findings is taken out."""


class Recheck(Struct, frozen=True):
    batches: tuple[int, ...]


async def recheck_batches(task: Recheck, run: Run, world: World) -> Rechecked:
    began = world.clock()
    left = [run.work.batches[number] for number in task.batches]
    before = await _read_texts(left, run, world)
    unseen = [batch for batch in left if not batch.uses_agent and not _find_targets(batch, run)]
    failed = await recall_refutations(left, run, world)
    failed |= {
        batch.number: NO_OP for batch in unseen if _is_no_op(run.work.patches[batch.number], before)
    }
    left = [batch for batch in left if batch.number not in failed]
    follow: dict[int, tuple[str, ...]] = {}
    unproven: dict[str, str] = {}
    settled: set[Name] = set()
    runs = 0
    for turn in range(TURNS + 2):
        findings, looks = await _run_analyzers(left, run, world)
        seen = RecheckDiff(run, left, before, findings)
        guilty = seen.find_unfixed() | _find_unseen(left, run, looks)
        if not guilty and turn >= TURNS:
            guilty = seen.find_guilty(wide=True)
        elif not guilty:
            guilty = await _find_culprits(seen, settled, run, world)
        follow = seen.follow_ups()
        if not guilty and left:
            sources = [source for source, look in looks.items() if _is_complete(look)]
            silence = await look_without_suppressions(
                Look(left, before, findings, sources), run, world
            )
            guilty, unproven = silence.hiding, silence.unproven
        if not guilty:
            gates = await find_gate_culprits(left, run, world)
            guilty, runs = gates.refused, runs + gates.runs
        if not guilty:
            break
        failed |= guilty
        left = [batch for batch in left if batch.number not in guilty]
    else:  # the analyzers never saw the remaining batches without the ones taken out last
        failed |= {batch.number: RESTLESS for batch in left}
        left = []
    return Rechecked(
        passed=tuple(batch.number for batch in left),
        silent=tuple(batch.number for batch in left if _is_proven(batch, run, unproven)),
        failed=failed,
        followed_by=follow,
        unproven=unproven,
        usage=Usage(seconds=world.clock() - began, checks=runs),
    )


async def _find_culprits(
    seen: RecheckDiff, settled: set[Name], run: Run, world: World
) -> dict[int, str]:
    """Return the batches that bring about something worse than they fixed, each found by leaving
    out others. What is put up with is added to `settled`: it can be fixed in turn, or is no worse.
    """
    worse = [news for news in seen.find_worse() if news.name not in settled]
    settled |= await find_cured(seen, worse, run, world) if worse else set()
    worse = [news for news in worse if news.name not in settled]

    async def look(left_out: frozenset[int], news: Sequence[NewFinding]) -> Counter[Name] | None:
        paths = {each.finding.spot.path for each in news}
        sources = {each.finding.source for each in news}
        kept = [batch for number, batch in seen.batches.items() if number not in left_out]
        findings, looks = await _run_analyzers(kept, run, world, sources, paths)
        if any(each.failed for each in looks.values()):
            return None
        texts = {path: text for path, text in seen.before.items() if path in paths}
        return RecheckDiff(run, kept, texts, findings).count_new()

    causes = await find_causes(seen, worse, look)
    guilty: dict[int, str] = {}
    for news in worse:
        if news.name not in causes:  # a look failed, or there were too many
            return seen.find_guilty(wide=False)
        number = causes[news.name]
        accused = {} if number is None else seen.accuse(number, news)
        settled |= set() if accused else {news.name}
        guilty = accused | guilty
    return guilty


def _is_proven(batch: Batch, run: Run, unproven: Mapping[str, str]) -> bool:
    """Return whether an analyzer's silence about the batch is a proof. A tool's own edit that
    adds a suppression is refused before, so its silence is one.
    """
    targets = _find_targets(batch, run)
    return any(not batch.uses_agent or finding.source not in unproven for finding in targets)


def _is_no_op(patch: Patch, before: Mapping[str, str]) -> bool:
    """Return whether a patch leaves the program unchanged; asked only if no analyzer can tell."""
    after = combine_patches([patch], before).items()
    same = all(is_same_program(path, before[path], text) for path, text in after)
    return not patch.files and same


async def _read_texts(batches: Sequence[Batch], run: Run, world: World) -> dict[str, str]:
    patches = [run.work.patches[batch.number] for batch in batches]
    async with world.trees.open_tree(run.landing.tip) as tree:
        texts = {path: tree.text(path) for patch in patches for path in patch.paths}
    return {path: text for path, text in texts.items() if text is not None}


def _choose_analyzers(batches: Sequence[Batch], run: Run) -> set[str]:
    """Return the analyzers that reported the batches' items, or all if an agent wrote a patch."""
    wanted = {finding.source for batch in batches for finding in _find_targets(batch, run)}
    if any(batch.uses_agent for batch in batches):
        # An agent's patch may do anything: all analyzers that could review the tip look again.
        reviews = run.reviewing.reviews
        wanted.update(name for name in run.started.reviewers if _is_complete(reviews.get(name)))
    return wanted


async def _run_analyzers(
    batches: Sequence[Batch],
    run: Run,
    world: World,
    wanted: Collection[str] | None = None,
    paths: Collection[str] | None = None,
) -> tuple[list[Finding], dict[str, LatestReview]]:
    """Return the findings on the patched tree, or in some files, and a review by analyzer."""
    patches = [run.work.patches[batch.number] for batch in batches]
    wanted = _choose_analyzers(batches, run) if wanted is None else wanted
    findings: list[Finding] = []
    looks: dict[str, LatestReview] = {}
    steering = Pristine(origin=world.change.base, alone=world.protected.steering)
    async with world.trees.open_tree(run.landing.tip, patches, pristine=steering) as tree:
        view = select_files(world.change, run, tree)
        if paths is not None:
            view = [path for path in tree.files() if path in paths]
        for source in sorted(wanted):
            said = Analysis(failed="it is not there any more")
            if analyzer := world.analyzers.get(source):
                said = await analyzer.analyze(tree, view)
            findings += said.findings
            looks[source] = LatestReview(
                source,
                run.landing.tip,
                failed=said.failed,
                skipped=said.skipped,
                unread=said.unread,
            )
    return findings, looks


def _is_complete(review: LatestReview | None) -> bool:
    return review is not None and not review.failed and not review.skipped


def _find_targets(batch: Batch, run: Run) -> list[Finding]:
    """Return the analyzers' findings on the items that the batch claims to fix."""
    reviewers = run.started.reviewers
    return [
        finding
        for number in run.claimed_items(batch)
        for finding in run.items[number].sighted
        if finding.source in reviewers
    ]


def _find_unseen(
    batches: Sequence[Batch], run: Run, looks: Mapping[str, LatestReview]
) -> dict[int, str]:
    reasons = {
        batch.number: _unseen_reason(batch, run, looks) or _blinding_reason(batch, run, looks)
        for batch in batches
    }
    return {number: why for number, why in reasons.items() if why}


def _unseen_reason(batch: Batch, run: Run, looks: Mapping[str, LatestReview]) -> str:
    """Return why an analyzer could not look again at the batch's findings, or ''."""
    for finding in sorted(_find_targets(batch, run), key=lambda finding: finding.source):
        look, path = looks[finding.source], finding.spot.path
        if not look.has_seen(path):
            named = path if path in look.unread else "all files, and does not say which"
            why = look.failed or look.skipped or f"it could not read {named}"
            return f"{look.reviewer} could not look again: {why}"
    return ""


def _blinding_reason(batch: Batch, run: Run, looks: Mapping[str, LatestReview]) -> str:
    """Return which analyzer can no longer read a file that the batch edits, or ''."""
    edited, reviews = set(run.work.patches[batch.number].paths), run.reviewing.reviews
    for source, look in looks.items():
        before = reviews[source].unread if source in reviews else ()
        if lost := edited & set(look.unread) - set(before):
            return f"keeps {source} from reading {min(lost)}"
    return ""
