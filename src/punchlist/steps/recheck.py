"""The analyzers look at the patched tree: is what they found gone, and did nothing else get louder?"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.model.aftermath import Aftermath
from punchlist.model.events import Rechecked
from punchlist.model.finding import Finding
from punchlist.model.patch import Patch, combined
from punchlist.model.plan import Batch
from punchlist.model.run import Run
from punchlist.model.tamper import same_program
from punchlist.model.usage import Usage
from punchlist.ports import Pristine, World
from punchlist.steps.review import in_view

NO_OP = "only comments, formatting or the names of locals would change"
TURNS = 4
"""How often the guilty are looked for by taking out the likeliest; after that everything in their files goes."""


class Recheck(Struct, frozen=True):
    batches: tuple[int, ...]


async def recheck(task: Recheck, run: Run, world: World) -> Rechecked:
    began = world.clock()
    left = [run.work.batches[number] for number in task.batches]
    before = await _texts(left, run, world)
    failed = {
        batch.number: NO_OP for batch in left if not _sources(batch, run) & world.analyzers.keys() and _is_no_op(batch, before)
    }
    left = [batch for batch in left if batch.number not in failed]
    follow: dict[int, tuple[str, ...]] = {}
    for turn in range(TURNS + 1):
        findings, blind = await _analyzed(left, run, world)
        seen = Aftermath(run, left, before, findings)
        guilty = seen.guilty(wide=turn == TURNS) | _unseen(left, run, blind)
        follow = seen.follow_ups()
        if not guilty:
            break
        failed |= guilty
        left = [batch for batch in left if batch.number not in guilty]
    return Rechecked(
        passed=tuple(batch.number for batch in left),
        silent=tuple(batch.number for batch in left if _sources(batch, run) & world.analyzers.keys()),
        failed=failed,
        followed_by=follow,
        usage=Usage(seconds=world.clock() - began),
    )


def _is_no_op(batch: Batch, before: Mapping[str, str]) -> bool:
    """Whether a patch leaves the program what it was; only asked where no analyzer can say that something is gone."""
    patch = batch.patch or Patch()
    after = combined([patch], before)
    return not patch.files and all(same_program(path, before[path], text) for path, text in after.items())


async def _texts(batches: Sequence[Batch], run: Run, world: World) -> dict[str, str]:
    async with world.trees.at(run.tip) as tree:
        texts = {path: tree.text(path) for batch in batches for path in batch.paths}
    return {path: text for path, text in texts.items() if text is not None}


async def _analyzed(batches: Sequence[Batch], run: Run, world: World) -> tuple[list[Finding], dict[str, str]]:
    patches = [run.work.patches[batch.number] for batch in batches]
    wanted = sorted({source for batch in batches for source in _sources(batch, run)} & world.analyzers.keys())
    findings: list[Finding] = []
    blind: dict[str, str] = {}
    steering = Pristine(origin=world.change.base, alone=world.protected.steering)
    async with world.trees.at(run.tip, patches, pristine=steering) as tree:
        view = in_view(world.change, run, tree)
        for source in wanted:
            analysis = await world.analyzers[source].analyze(tree, view)
            findings += analysis.findings
            if analysis.failed or analysis.skipped:  # who did not look has not seen that it is gone
                blind[source] = analysis.failed or analysis.skipped
    return findings, blind


def _sources(batch: Batch, run: Run) -> set[str]:
    return {finding.source for number in batch.items for finding in run.items[number].sighted}


def _unseen(batches: Sequence[Batch], run: Run, blind: Mapping[str, str]) -> dict[int, str]:
    return {
        batch.number: f"{source} could not look again: {blind[source]}"
        for batch in batches
        for source in sorted(_sources(batch, run) & blind.keys())
    }
