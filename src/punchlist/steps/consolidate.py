"""consolidate: findings become new items, or sightings of known ones; items no longer reported are
closed.
"""

import asyncio

from msgspec import Struct

from punchlist.model.dedup.merge import MergeRule
from punchlist.model.item.item import ACTIONABLE, Fact, Move
from punchlist.model.ledger.events import Dismissed, Reported
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.support.files import write_files
from punchlist.steps.support.item_matching import Sort, sort_findings
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending
from punchlist.views.findings_document import HEADING, findings_document


class Options(VerbOptions, frozen=True):
    """`rule`: when two findings are one item. `document`: write the findings as a document each
    round.
    """

    rule: MergeRule = MergeRule.SMART
    document: bool = False


class WriteDown(Struct, frozen=True):
    round: int


class Place(Struct, frozen=True):
    """Write the round's document into the user's checkout as well."""

    round: int


class Remember(Struct, frozen=True):
    items: tuple[int, ...]


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    if run.reviewing.fresh_from or run.reviewing.fresh:
        return select_pending(run, Action("items", Sort(options.rule), "findings become items"))
    actions: list[Action] = []
    if known := _find_dismissed(run):
        about = f"{len(known)} were dismissed before"
        actions.append(Action("remembered", Remember(known), about))
    if options.document:
        task = WriteDown(run.position.round)
        actions.append(Action("document", task, "the findings are written down"))
    if options.document and (folder := run.started.documents_folder):
        place_ = Place(run.position.round)
        actions.append(Action("place", place_, f"the findings are written to {folder}"))
    return select_pending(run, *actions)[:1]


async def write_document(task: WriteDown, run: Run, world: World) -> Reported:
    name, content = findings_document(run, task.round)
    return Reported(artifacts=await write_files({name: content}, world))


async def place_document(task: Place, run: Run, world: World) -> Reported:
    """Write the document where the user asked for it; it is not committed."""
    name, content = findings_document(run, task.round)
    path = f"{run.started.documents_folder}/{name.rpartition('/')[2]}"
    await asyncio.to_thread(world.repository.write_checkout_file, path, content, HEADING.encode())
    return Reported(placed=(path,))


def _find_dismissed(run: Run) -> tuple[int, ...]:
    known = run.started.dismissed
    return tuple(item.number for item in run.find_items(*ACTIONABLE) if item.fingerprint in known)


async def apply_dismissals(task: Remember, run: Run, world: World) -> Dismissed:
    """Dismiss items that the user dismissed in an earlier run."""
    known = run.started.dismissed
    earlier = {number: known[run.items[number].fingerprint] for number in task.items}
    moves = tuple(
        Move(number, Fact.DISMISSED, by=each.by, why=f"{each.why} (dismissed in {each.where})")
        for number, each in earlier.items()
    )
    by = ", ".join(sorted({each.by for each in earlier.values()}))
    return Dismissed(by=by, why="dismissed in earlier runs", moves=moves)


VERB = Verb(
    "reports become items",
    Options,
    step,
    {
        Sort: sort_findings,
        Remember: apply_dismissals,
        WriteDown: write_document,
        Place: place_document,
    },
)
