"""Runs the analyzers on the patched tree: are the findings gone, and are there new ones?"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.recheck_diff import NewFinding, RecheckDiff
from punchlist.model.integrity.suppressions import is_same_program
from punchlist.model.item.batch import Batch
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Rechecked
from punchlist.model.ledger.run import LatestReview, Run
from punchlist.model.patch.hunk import OriginalFile, make_hunks
from punchlist.model.patch.patch import Patch, combine_patches
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.judging.causes import Name, find_causes
from punchlist.steps.judging.cures import find_cured
from punchlist.steps.judging.gates.culprits import judge_by_gates
from punchlist.steps.judging.refutations import recall_refutations
from punchlist.steps.judging.relocation import find_moved
from punchlist.steps.judging.silence import Look, look_without_suppressions
from punchlist.steps.support.project_context import select_analyzed

NO_OP = "only comments, formatting or the names of locals would change"
RESTLESS = "the analyzers had something new to say each time a fix was taken out"
_FORMATS = 2
"""How often formatters may change the patches of one recheck."""
TURNS = 12
"""Looks at all batches before everything in the files of new findings is taken out."""


class Recheck(Struct, frozen=True):
    batches: tuple[int, ...]


async def recheck_batches(task: Recheck, run: Run, world: World) -> Rechecked:
    began = world.clock()
    run = await _add_standing(run, world)
    left = [run.work.batches[number] for number in task.batches]
    looks = _Looks(await _read_texts(left, run, world), run, world)
    unseen = [batch for batch in left if not batch.uses_agent and not _find_targets(batch, run)]
    failed = await recall_refutations(left, run, world)
    failed |= {
        batch.number: NO_OP
        for batch in unseen
        if _is_no_op(run.work.patches[batch.number], looks.before)
    }
    for turn in range(TURNS + 2):
        left = [batch for batch in left if batch.number not in failed]
        guilty = await looks.find_guilty(left, turn)
        if guilty is not None and not guilty:
            break
        failed |= guilty or {}
    else:  # the analyzers never saw the remaining batches without the ones taken out last
        failed = {batch.number: RESTLESS for batch in left} | failed
        left = []
    originals = {path: OriginalFile(path, text) for path, text in looks.before.items()}
    formatted = {n: patch for n, patch in looks.formatted.items() if n not in failed}
    return Rechecked(
        passed=tuple(batch.number for batch in left),
        silent=tuple(batch.number for batch in left if _is_proven(batch, run, looks.unproven)),
        failed=failed,
        followed_by=looks.follow,
        unproven=looks.unproven,
        formatted=formatted,
        hunks={number: make_hunks(patch, originals) for number, patch in formatted.items()},
        usage=Usage(seconds=world.clock() - began, checks=looks.runs),
    )


async def _add_standing(run: Run, world: World) -> Run:
    """Return the run with what its judges report of the tip without fixes, for the comparison."""
    if not run.started.judges:
        return run
    findings, looks = await _run_analyzers((), run, world, run.started.judges)
    reviews = {**run.reviewing.reviews, **looks}
    return replace(run, reviewing=replace(run.reviewing, reviews=reviews, standing=tuple(findings)))


class _Looks:
    """What was seen in the looks of one recheck; formatters may change the patches."""

    def __init__(self, before: Mapping[str, str], run: Run, world: World) -> None:
        self._run, self._world = run, world
        self.before = before
        self.follow: dict[int, tuple[str, ...]] = {}
        self.unproven: dict[str, str] = {}
        self._settled: set[Name] = set()
        self.formatted: dict[int, Patch] = {}
        self._times_formatted = 0
        self.runs = 0

    async def find_guilty(self, left: Sequence[Batch], turn: int) -> dict[int, str] | None:
        """Return the batches that are refused, and why; None: patches changed, look again."""
        run, world = self._run, self._world
        findings, looks = await _run_analyzers(left, run, world)
        seen = RecheckDiff(run, left, self.before, findings)
        guilty = seen.find_unfixed() | _find_unseen(left, run, looks)
        if not guilty and turn >= TURNS:
            guilty = seen.find_guilty(wide=True)
        elif not guilty:
            guilty = await _find_culprits(seen, self._settled, run, world)
        self.follow = seen.follow_ups()
        if not guilty and left:
            sources = [source for source, look in looks.items() if _is_complete(look)]
            look = Look(left, self.before, findings, sources)
            silence = await look_without_suppressions(look, run, world)
            guilty, self.unproven = silence.hiding, silence.unproven
            targets = {batch.number: _find_targets(batch, run) for batch in left}
            guilty = guilty or await find_moved(look, targets, run, world)
        return guilty or await self._ask_gates(left)

    async def _ask_gates(self, left: Sequence[Batch]) -> dict[int, str] | None:
        may_format = self._times_formatted < _FORMATS
        gates = await judge_by_gates(left, self._run, self._world, may_format=may_format)
        self.runs += gates.runs
        if gates.formatted:
            self._times_formatted += 1
            self.formatted |= gates.formatted
            known = {**self._run.work.patches, **gates.formatted}
            self._run = replace(self._run, work=replace(self._run.work, patches=known))
            return None
        return dict(gates.refused)


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
        able = (*run.started.reviewers, *run.started.judges)
        wanted.update(name for name in able if _is_complete(reviews.get(name)))
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
        view = select_analyzed(run, world, tree)
        if view is not None:  # what the patches write, too: they may go beyond the change
            written = {path for patch in patches for path in patch.paths}
            view = [path for path in tree.files() if path in written.union(view)]
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
                missed=said.missed,
                left_out=frozenset(said.left_out),
                left_out_by=said.left_out_by,
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
            why = f"{path} is left out by {look.left_out_by}" if path in look.left_out else ""
            why = look.failed or look.skipped or why or f"it could not read {named}"
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
