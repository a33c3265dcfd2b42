"""The analyzers look at the patched tree: is what they found gone, and did nothing
else get louder?
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.recheck_diff import Aftermath
from punchlist.model.integrity.suppressions import same_program
from punchlist.model.item.batch import Batch
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Rechecked
from punchlist.model.ledger.run import Review, Run
from punchlist.model.patch.patch import Patch, combined
from punchlist.ports.analyzer import Analysis
from punchlist.ports.tree import Pristine
from punchlist.ports.world import World
from punchlist.steps.support.project_context import in_view

NO_OP = "only comments, formatting or the names of locals would change"
RESTLESS = "the analyzers had something new to say each time a fix was taken out"
TURNS = 4
"""How often the guilty are looked for by taking out the likeliest; after that everything in their
files goes.
"""


class Recheck(Struct, frozen=True):
    batches: tuple[int, ...]


async def recheck(task: Recheck, run: Run, world: World) -> Rechecked:
    began = world.clock()
    left = [run.work.batches[number] for number in task.batches]
    before = await _texts(left, run, world)
    failed = {
        batch.number: NO_OP
        for batch in left
        if not batch.by_agent
        and not _aims(batch, run)
        and _is_no_op(run.work.patches[batch.number], before)
    }
    left = [batch for batch in left if batch.number not in failed]
    follow: dict[int, tuple[str, ...]] = {}
    for turn in range(TURNS + 2):
        findings, looks = await _analyzed(left, run, world)
        seen = Aftermath(run, left, before, findings)
        guilty = seen.guilty(wide=turn >= TURNS) | _unseen(left, run, looks)
        follow = seen.follow_ups()
        if not guilty:
            break
        failed |= guilty
        left = [batch for batch in left if batch.number not in guilty]
    else:  # those that are left were never seen without the last who went
        failed |= {batch.number: RESTLESS for batch in left}
        left = []
    return Rechecked(
        passed=tuple(batch.number for batch in left),
        silent=tuple(batch.number for batch in left if _aims(batch, run)),
        failed=failed,
        followed_by=follow,
        usage=Usage(seconds=world.clock() - began),
    )


def _is_no_op(patch: Patch, before: Mapping[str, str]) -> bool:
    """Whether a patch leaves the program what it was; only asked where no analyzer can say that
    something is gone.
    """
    after = combined([patch], before)
    return not patch.files and all(
        same_program(path, before[path], text) for path, text in after.items()
    )


async def _texts(batches: Sequence[Batch], run: Run, world: World) -> dict[str, str]:
    async with world.trees.at(run.landing.tip) as tree:
        texts = {
            path: tree.text(path)
            for batch in batches
            for path in run.work.patches[batch.number].paths
        }
    return {path: text for path, text in texts.items() if text is not None}


async def _analyzed(
    batches: Sequence[Batch], run: Run, world: World
) -> tuple[list[Finding], dict[str, Review]]:
    """What is reported of the patched tree by the reviewers whose findings are aimed at, and how
    each of them looked.
    """
    patches = [run.work.patches[batch.number] for batch in batches]
    wanted = {finding.source for batch in batches for finding in _aims(batch, run)}
    if any(
        batch.by_agent for batch in batches
    ):  # an agent may bring about anything: everybody who saw the tip looks again
        wanted.update(
            name
            for name in run.started.reviewers
            if _saw_something(run.reviewing.reviews.get(name))
        )
    findings: list[Finding] = []
    looks: dict[str, Review] = {}
    steering = Pristine(origin=world.change.base, alone=world.protected.steering)
    async with world.trees.at(run.landing.tip, patches, pristine=steering) as tree:
        view = in_view(world.change, run, tree)
        for source in sorted(wanted):
            analyzer = world.analyzers.get(source)
            said = (
                await analyzer.analyze(tree, view)
                if analyzer
                else Analysis(failed="it is not there any more")
            )
            findings += said.findings
            looks[source] = Review(
                source,
                run.landing.tip,
                failed=said.failed,
                skipped=said.skipped,
                unread=said.unread,
            )
    return findings, looks


def _saw_something(review: Review | None) -> bool:
    return review is not None and not review.failed and not review.skipped


def _aims(batch: Batch, run: Run) -> list[Finding]:
    """What the run's reviewers, whoever of them is still there, reported of the items that the
    batch is said to fix; documents speak once.
    """
    reviewers = run.started.reviewers
    return [
        finding
        for number in run.claims(batch)
        for finding in run.items[number].sighted
        if finding.source in reviewers
    ]


def _unseen(batches: Sequence[Batch], run: Run, looks: Mapping[str, Review]) -> dict[int, str]:
    reasons = {
        batch.number: _unseen_aim(batch, run, looks) or _blinding(batch, run, looks)
        for batch in batches
    }
    return {number: why for number, why in reasons.items() if why}


def _unseen_aim(batch: Batch, run: Run, looks: Mapping[str, Review]) -> str:
    """Why somebody's silence about the batch's own findings says nothing: who did not look has not
    seen that they are gone.
    """
    for finding in sorted(_aims(batch, run), key=lambda finding: finding.source):
        look, path = looks[finding.source], finding.spot.path
        if not look.saw(path):
            unread = (
                "it could not read"
                f" {path if path in look.unread else 'all files, and does not say which'}"
            )
            return f"{look.reviewer} could not look again: {look.failed or look.skipped or unread}"
    return ""


def _blinding(batch: Batch, run: Run, looks: Mapping[str, Review]) -> str:
    """Whom the batch keeps from reading a file that it touches; who could not read it before is no
    fault of the batch.
    """
    for source, look in looks.items():
        before = run.reviewing.reviews[source].unread if source in run.reviewing.reviews else ()
        lost = sorted(set(run.work.patches[batch.number].paths) & set(look.unread) - set(before))
        if lost:
            return f"keeps {source} from reading {lost[0]}"
    return ""
