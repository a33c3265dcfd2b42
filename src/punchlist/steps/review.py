"""review: every reviewer looks at the run's tip, side by side; agents in a role as well as
analyzers.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.protected import STEERS_AGENTS
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import Patch
from punchlist.ports.roles import Opinion
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World
from punchlist.steps.support.project_context import background, in_view
from punchlist.steps.verb import Action, Verb, missing

_NAMED = 3
EVERYTHING = "the whole repository"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`again`: only where the tip has moved since the reviewer last looked. Documents speak once,
    whatever is asked.

    `by`: roles of agents that review as well; `optional` lets them stay away where no agent is set
    up. `analyzers`: whether the analyzers look, too.
    """

    again: bool = False
    by: tuple[str, ...] = ()
    optional: bool = False
    analyzers: bool = True


class Look(Struct, frozen=True):
    reviewer: str
    commit: str
    place: str


class Consult(Struct, frozen=True):
    """An agent is asked, in a role, without anything of what was said before."""

    role: str
    commit: str
    place: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    started = run.started
    unheard = (
        ()
        if options.again
        else tuple(name for name in started.documents if name not in run.reviewing.reviews)
    )
    names = (*(started.reviewers if options.analyzers else ()), *unheard)
    roles = tuple(role for role in options.by if role in started.crew)
    looks = [
        Action(name, Look(name, run.landing.tip, place), f"{name} reviews")
        for name in names
        if _stale(run, options, name)
    ]
    consults = [
        Action(
            role,
            Consult(role, run.landing.tip, place),
            f"{started.crew[role][0]} reviews as {role}",
        )
        for role in roles
        if _stale(run, options, role)
    ]
    return missing(run, *looks, *consults)


def _stale(run: Run, options: Options, name: str) -> bool:
    review = run.reviewing.reviews.get(name)
    up_to_date = review is not None and review.commit == run.landing.tip and not review.failed
    return not (options.again and up_to_date)


async def look(task: Look, run: Run, world: World) -> Reviewed:
    reviewer = world.analyzers.get(task.reviewer) or world.documents[task.reviewer]
    began = world.clock()
    # A file of findings is not steered by anything; what it speaks of must be there.
    steering = world.protected.steering if task.reviewer in world.analyzers else ()
    async with world.trees.at(
        task.commit, pristine=Pristine(origin=world.change.base, alone=steering)
    ) as tree:
        analysis = await reviewer.analyze(tree, in_view(world.change, run, tree))
    found = tuple(
        replace(finding, id=f"{task.place}/{task.reviewer}:{n}")
        for n, finding in enumerate(analysis.findings)
    )
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


async def consult(task: Consult, run: Run, world: World) -> Reviewed:
    """An agent may say what it likes and must change nothing: the tree is compared, and who wrote
    in it has not reviewed.
    """
    began = world.clock()
    told = await background(run, world)
    pristine = Pristine(origin=world.change.base, alone=STEERS_AGENTS)
    async with world.trees.at(task.commit, pristine=pristine, apart=run.outside(task.role)) as tree:
        view = in_view(world.change, run, tree)
        shown = [path for path in view or () if _has_lines(path, world.change, tree)]
        before = await world.trees.changes(tree)
        opinion = await world.crew.reviewers[task.role].review(
            tree, view, told, f"{task.place} {task.role}"
        )
        after = await world.trees.changes(tree)
    written = _written(before, after) if before != after else ""
    found = tuple(
        replace(finding, id=f"{task.place}/{task.role}:{n}")
        for n, finding in enumerate(opinion.findings)
    )
    return Reviewed(
        reviewer=task.role,
        commit=task.commit,
        findings=found,
        refused=opinion.refused,
        looked_at=len(shown) - len(unopened(shown, opinion)),
        failed=opinion.failed or written or opinion.incomplete,
        unread=out_of_sight(task.role, opinion, run, world.change),
        agent=opinion.agent,
        unopened=unopened(shown, opinion) if view is not None else _whole(opinion),
        groups=tuple(
            tuple(found[index].id for index in group if index < len(found))
            for group in opinion.groups
        ),
        transcript=opinion.transcript,
        usage=replace(opinion.usage, seconds=world.clock() - began),
    )


def _written(before: Patch, after: Patch) -> str:
    named = sorted(set(before.paths) ^ set(after.paths)) or sorted(after.paths)
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return f"it changed files, though it was only to look: {', '.join(named[:_NAMED])}{more}"


def _has_lines(path: str, change: Change, tree: Tree) -> bool:
    """Whether there is anything of the change to be read in a file: it may only be renamed, or
    binary.
    """
    if change.kind is not ScopeKind.ALL:
        return bool(change.files.get(path))
    text = tree.text(path) or ""
    return bool(text) and "\0" not in text and change.covers(path, None, None)


def _whole(opinion: Opinion) -> tuple[str, ...]:
    """Of a whole repository too many files stay closed to name them; but who was seen to open none
    has looked at nothing.
    """
    return () if opinion.opened or opinion.findings else (EVERYTHING,)


def unopened(shown: Sequence[str], opinion: Opinion) -> tuple[str, ...]:
    """Files of the change whose diff it was not shown, and that it was not seen to open either."""
    return tuple(path for path in shown if path in opinion.unshown and path not in opinion.opened)


def out_of_sight(role: str, opinion: Opinion, run: Run, change: Change) -> tuple[str, ...]:
    """Files in which the role found something before, and that it was neither shown nor seen to
    open nor says anything of now.
    """
    before = {
        finding.spot.path
        for item in run.items.values()
        for finding in item.findings
        if finding.source == role
    }
    shown = (
        change.files.keys() - set(opinion.unshown) if change.kind is not ScopeKind.ALL else set()
    )
    return tuple(
        sorted(
            before
            - shown
            - set(opinion.opened)
            - {finding.spot.path for finding in opinion.findings}
            - {""}
        )
    )


VERB = Verb("every reviewer looks at the tip", Options, step, {Look: look, Consult: consult})
