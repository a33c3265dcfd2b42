"""What agents are told of the project: conventions of the base, checks, and the change."""

from collections.abc import Iterable

from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.roles import Background, RoleTask
from punchlist.ports.tree import Tree
from punchlist.ports.world import World

CONVENTIONS = (
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "GEMINI.md",
)


async def load_background(run: Run, world: World) -> Background:
    """Load the context; files that steer agents are read from the base, never from the change."""
    change, started = world.change, run.started
    named = {path: await world.repository.text(change.base, path) for path in CONVENTIONS}
    meant = {
        path: await world.repository.text(run.landing.tip, path) for path in started.specification
    }
    whole = change.kind is ScopeKind.ALL
    return Background(
        conventions={path: text for path, text in named.items() if text},
        checks=tuple(check.command for check in (started.checks if started.checks_allowed else ())),
        diff=""
        if whole
        else await world.repository.diff(
            change.base, run.landing.tip, sorted(change.files) or None
        ),
        base=change.base_name or change.base[:12],
        branch=run.landing.branch,
        specification={path: text for path, text in meant.items() if text is not None},
        notes=started.notes,
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


def select_files(change: Change, run: Run, tree: Tree) -> list[str] | None:
    """Return the files to review, None for all: those of the change, of this round's batches, and
    with reported items, which would else look fixed.
    """
    if change.kind is ScopeKind.ALL and not change.paths:
        return None
    reviewers = run.started.reviewers
    reported = {
        finding.spot.path
        for item in run.items.values()
        for finding in item.sighted
        if finding.source in reviewers
    }
    shown = reported.union(*(batch.paths for batch in run.work.batches.values()))
    return [path for path in tree.files() if path in shown or change.covers(path, None, None)]
