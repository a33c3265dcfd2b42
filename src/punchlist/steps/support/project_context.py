"""What agents are told of the project: conventions of the base, checks, and the change."""

from collections.abc import Container, Iterable
from contextlib import AbstractAsyncContextManager
from weakref import WeakKeyDictionary

from punchlist.model.checks.own_files import LeaveOut, list_left_out
from punchlist.model.item.doubt import Doubt
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.roles import Background, RoleTask
from punchlist.ports.tree import Tree
from punchlist.ports.world import World

_LEFT_OUT: WeakKeyDictionary[Tree, dict[tuple[LeaveOut, tuple[str, ...]], dict[str, str]]] = (
    WeakKeyDictionary()
)
"""By tree what is left out of it: all of its files are read for that, and analyzers share trees."""

EVERYTHING = "the whole repository"
"""What an agent that opened no file and found nothing did not look at."""

CONVENTIONS = (
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "GEMINI.md",
)


def open_tip(role: str, run: Run, world: World) -> AbstractAsyncContextManager[Tree]:
    """Lend the agent in a role a tree of the run's tip."""
    return world.trees.open_tree(run.landing.tip, apart=run.has_outside_agent(role))


async def load_background(run: Run, world: World) -> Background:
    """Load the context; files that steer agents are read from the base, never from the change."""
    change, started, tip = world.change, run.started, run.landing.tip
    repository = world.repository
    named = {path: await repository.text(change.base, path) for path in CONVENTIONS}
    meant = {path: await repository.text(tip, path) for path in started.specification}
    diff = ""
    if change.kind is not ScopeKind.ALL:
        paths = sorted({*change.files, *change.renamed.values(), *change.deleted})
        diff = await repository.diff(change.base, tip, paths or None)
    return Background(
        conventions={path: text for path, text in named.items() if text},
        checks=tuple(check.command for check in started.checks if started.checks_allowed),
        coverage=started.coverage,
        diff=diff,
        base=change.base_name or change.base[:12],
        branch=change.branch or run.landing.branch,
        specification={path: text for path, text in meant.items() if text is not None},
        notes=started.notes,
        story=started.story.label,
        round=run.position.round,
    )


async def build_task(label: str, numbers: Iterable[int], run: Run, world: World) -> RoleTask:
    """Return the task for the clarifier and the planner, who share one conversation."""
    return RoleTask(
        label=label,
        items=tuple(run.items[number] for number in numbers),
        told=await load_background(run, world),
        doubts=tuple(run.asking.doubts.values()),
        session=run.asking.sessions.get("plan", ""),
    )


def find_answered(items: Container[int], run: Run) -> tuple[Doubt, ...]:
    """Return the user's answers about the items."""
    doubts = run.asking.doubts.values()
    return tuple(doubt for doubt in doubts if doubt.item in items and doubt.answer)


def select_analyzed(run: Run, world: World, tree: Tree) -> list[str] | None:
    """Return the files that analyzers look at, None for all: those to review, without the vendored
    and generated ones of a whole repository.
    """
    chosen = select_files(world.change, run, tree)
    left_out = find_left_out(run, world, tree)
    if not left_out:
        return chosen
    return [path for path in (tree.files() if chosen is None else chosen) if path not in left_out]


def find_left_out(run: Run, world: World, tree: Tree) -> dict[str, str]:
    """Return by vendored or generated file what says so. Of a change nothing is left out, and
    nothing that has a finding or that a fix of this run writes.
    """
    change = world.change
    if change.kind is not ScopeKind.ALL:
        return {}
    known, key = _LEFT_OUT.setdefault(tree, {}), (world.leave_out, change.paths)
    if key not in known:
        known[key] = list_left_out(world.leave_out, tree.files(), tree.text, change.paths)
    left_out = {path: why for path, why in known[key].items() if change.covers(path, None, None)}
    kept = _list_touched(run).union(run.landing.written) if left_out else frozenset[str]()
    return {path: why for path, why in left_out.items() if path not in kept}


def select_files(change: Change, run: Run, tree: Tree) -> list[str] | None:
    """Return the files to review, None for all: those of the change, of this round's batches, and
    those with reported items, which would otherwise look fixed.
    """
    if change.kind is ScopeKind.ALL and not change.paths:
        return None
    shown = _list_touched(run)
    return [path for path in tree.files() if path in shown or change.covers(path, None, None)]


def _list_touched(run: Run) -> frozenset[str]:
    """Return the files of this round's batches, and those with items that a reviewer reported."""
    reviewers = run.started.reviewers
    reported = frozenset(
        finding.spot.path
        for item in run.items.values()
        for finding in item.sighted
        if finding.source in reviewers
    )
    return reported.union(*(batch.paths for batch in run.work.batches.values()))
