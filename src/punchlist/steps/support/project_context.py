"""What agents are told of the project: its conventions as the base has them, the checks that judge,
the change itself.
"""

from collections.abc import Iterable

from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import Change, ScopeKind
from punchlist.ports.roles import Background, Task
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


async def background(run: Run, world: World) -> Background:
    """The change under review is data; of what steers an agent only the base's word counts."""
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


async def to_think_over(label: str, numbers: Iterable[int], run: Run, world: World) -> Task:
    """Items for those who ask and plan before anybody fixes: one conversation for all of it."""
    return Task(
        label=label,
        items=tuple(run.items[number] for number in numbers),
        told=await background(run, world),
        doubts=tuple(run.asking.doubts.values()),
        session=run.asking.sessions.get("plan", ""),
    )


def in_view(change: Change, run: Run, tree: Tree) -> list[str] | None:
    """The files a reviewer is shown: all of them, or those of the change, of what was fixed since,
    and of what was reported: an item in a file that nobody looks at would seem gone.
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
