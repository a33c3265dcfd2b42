"""review: analyzers and agents in reviewer roles review the run's tip in parallel."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.protected import STEERS_AGENTS
from punchlist.model.finding.path_patterns import is_excluded
from punchlist.model.finding.selection import find_selection
from punchlist.model.ledger.events import Reviewed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.model.patch.patch import Patch
from punchlist.ports.roles import Opinion
from punchlist.ports.tree import Pristine, Tree
from punchlist.ports.world import World
from punchlist.steps.judging.gates.coverage import REVIEWER, MeasureCoverage, review_coverage
from punchlist.steps.support.analyze import Analyze, number_findings, run_analyzer
from punchlist.steps.support.project_context import EVERYTHING, load_background, select_files
from punchlist.steps.support.wording import join_few
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending


class Options(VerbOptions, frozen=True):
    """`again`: only reviewers that have not seen the current tip; documents are never read again.

    `by`: agent roles that review as well; `optional` skips them if no agent is set up.
    `analyzers`: whether the analyzers run, too.
    """

    again: bool = False
    by: tuple[str, ...] = ()
    optional: bool = False
    analyzers: bool = True


class Consult(Struct, frozen=True):
    """Ask an agent in a role, in a new conversation."""

    role: str
    commit: str
    place: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    started, tip = run.started, run.landing.tip
    names = list(started.reviewers) if options.analyzers else []
    if not options.again:
        names += [name for name in started.documents if name not in run.reviewing.reviews]
    actions = [Action(name, Analyze(name, tip, place), f"{name} reviews") for name in names]
    if started.coverage:
        measure = MeasureCoverage(tip, place)
        actions.append(Action(REVIEWER, measure, "the test coverage is measured"))
    for role in options.by:
        if role in started.crew:
            about = f"{started.crew[role][0]} reviews as {role}"
            actions.append(Action(role, Consult(role, tip, place), about, role=role))
    return select_pending(run, *(each for each in actions if _is_stale(run, options, each.key)))


def _is_stale(run: Run, options: Options, name: str) -> bool:
    review = run.reviewing.reviews.get(name)
    up_to_date = review is not None and review.commit == run.landing.tip and not review.failed
    return not (up_to_date and (options.again or name == REVIEWER))


async def consult_reviewer(task: Consult, run: Run, world: World) -> Reviewed:
    """Ask the agent; if it changed the tree, its review counts as failed."""
    began = world.clock()
    background = await load_background(run, world)
    pristine = Pristine(origin=world.change.base, alone=STEERS_AGENTS)
    reviewer = world.crew.reviewers[task.role]
    async with world.trees.open_tree(
        task.commit, pristine=pristine, apart=run.has_outside_agent(task.role)
    ) as tree:
        view = _drop_excluded(select_files(world.change, run, tree), run)
        shown = [path for path in view or () if _has_lines(path, world.change, tree)]
        before = await world.trees.collect_changes(tree)
        about = view if view is None else [*view, *world.change.deleted]
        opinion = await reviewer.review(tree, about, background, f"{task.place} {task.role}")
        after = await world.trees.collect_changes(tree)
    written = _describe_writes(before, after) if before != after else ""
    found = number_findings(opinion.findings, f"{task.place}/{task.role}")
    unopened = find_unopened(shown, opinion)
    return Reviewed(
        reviewer=task.role,
        commit=task.commit,
        findings=found,
        refused=opinion.refused,
        looked_at=len(shown) - len(unopened),
        failed=opinion.failed or written or opinion.incomplete,
        unread=find_unseen(task.role, opinion, run, world.change),
        agent=opinion.agent,
        unopened=unopened if view is not None else _unopened_repository(opinion),
        opened=opinion.opened if view is None else None,
        groups=tuple(
            tuple(found[index].id for index in group if index < len(found))
            for group in opinion.groups
        ),
        transcript=opinion.transcript,
        usage=replace(opinion.usage, seconds=world.clock() - began),
    )


def _drop_excluded(view: list[str] | None, run: Run) -> list[str] | None:
    """Return the files to show to an agent, without those that are excluded."""
    if view is None:
        return None
    folders = run.started.selections
    return [
        path
        for path in view
        if not is_excluded(path, find_selection(folders, path).selection.exclude)
    ]


def _describe_writes(before: Patch, after: Patch) -> str:
    named = sorted(set(before.paths) ^ set(after.paths)) or sorted(after.paths)
    return f"it changed files, though it was only to look: {join_few(named)}"


def _has_lines(path: str, change: Change, tree: Tree) -> bool:
    """Return whether the file has text of the change: it may only be renamed, or binary."""
    if change.kind is not ScopeKind.ALL:
        return bool(change.files.get(path))
    text = tree.text(path) or ""
    return bool(text) and "\0" not in text and change.covers(path, None, None)


def _unopened_repository(opinion: Opinion) -> tuple[str, ...]:
    """Return EVERYTHING if the agent opened no file and found nothing, else ()."""
    return () if opinion.opened or opinion.findings else (EVERYTHING,)


def find_unopened(shown: Sequence[str], opinion: Opinion) -> tuple[str, ...]:
    """Return changed files that the agent was not shown and did not open."""
    return tuple(path for path in shown if path in opinion.unshown and path not in opinion.opened)


def find_unseen(role: str, opinion: Opinion, run: Run, change: Change) -> tuple[str, ...]:
    """Return files with earlier findings of this role that it was not shown, did not open and does
    not mention now.
    """
    earlier = [finding for item in run.items.values() for finding in item.findings]
    before = {finding.spot.path for finding in earlier if finding.source == role}
    seen = {"", *opinion.opened, *(finding.spot.path for finding in opinion.findings)}
    if change.kind is not ScopeKind.ALL:
        seen |= change.files.keys() - set(opinion.unshown)
    return tuple(sorted(before - seen))


VERB = Verb(
    "every reviewer looks at the tip",
    Options,
    step,
    {Analyze: run_analyzer, Consult: consult_reviewer, MeasureCoverage: review_coverage},
    announced=True,
    portable=frozenset({Consult}),
)
