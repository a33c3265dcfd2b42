"""review: every reviewer looks at the run's tip, side by side."""

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.change import Change, ScopeKind
from punchlist.model.events import Reviewed
from punchlist.model.run import Run
from punchlist.model.usage import Usage
from punchlist.ports import Pristine, Tree, World
from punchlist.steps.verb import Action, Verb, missing


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`again`: only where the tip has moved since the reviewer last looked. Documents speak once, whatever is asked."""

    again: bool = False


class Look(Struct, frozen=True):
    reviewer: str
    commit: str
    place: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    started = run.started
    if started is None:
        return ()
    unheard = () if options.again else tuple(name for name in started.documents if name not in run.reviews)
    names = (*started.reviewers, *unheard)
    stale = [name for name in names if not (options.again and _up_to_date(run, name))]
    return missing(run, *(Action(name, Look(name, run.tip, place), f"{name} reviews") for name in stale))


def _up_to_date(run: Run, name: str) -> bool:
    review = run.reviews.get(name)
    return review is not None and review.commit == run.tip and not review.failed


async def look(task: Look, run: Run, world: World) -> Reviewed:
    reviewer = world.analyzers.get(task.reviewer) or world.documents[task.reviewer]
    began = world.clock()
    # A file of findings is not steered by anything; what it speaks of must be there.
    steering = world.protected.steering if task.reviewer in world.analyzers else ()
    async with world.trees.at(task.commit, pristine=Pristine(origin=world.change.base, alone=steering)) as tree:
        analysis = await reviewer.analyze(tree, in_view(world.change, run, tree))
    found = tuple(replace(finding, id=f"{task.place}/{task.reviewer}:{n}") for n, finding in enumerate(analysis.findings))
    return Reviewed(
        reviewer=task.reviewer,
        commit=task.commit,
        findings=found,
        refused=analysis.refused,
        looked_at=analysis.looked_at,
        failed=analysis.failed,
        skipped=analysis.skipped,
        unread=analysis.unread,
        usage=Usage(seconds=world.clock() - began),
    )


def in_view(change: Change, run: Run, tree: Tree) -> list[str] | None:
    """The files a reviewer is shown: all of them, or those of the change, of what was fixed since, and of what was reported:
    an item in a file that nobody looks at would seem gone."""
    if change.kind is ScopeKind.ALL and not change.paths:
        return None
    reviewers = run.started.reviewers if run.started is not None else ()
    reported = {finding.spot.path for item in run.items.values() for finding in item.sighted if finding.source in reviewers}
    shown = reported.union(*(batch.paths for batch in run.work.batches.values()))
    return [path for path in tree.files() if path in shown or change.covers(path, None, None)]


VERB = Verb("every reviewer looks at the tip", Options, step, {Look: look})
