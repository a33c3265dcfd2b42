"""consolidate: what was reported becomes items, sightings of known items, and items that are seen
no more.
"""

from msgspec import Struct

from punchlist.model.dedup.merge import MergeRule
from punchlist.model.item.item import ACTIONABLE, Fact, Move
from punchlist.model.ledger.events import Dismissed, Reported
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.support.item_matching import Sort, sort
from punchlist.steps.verb import Action, Verb, missing
from punchlist.views.findings_document import findings_document


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`rule`: when two findings are one item. `document`: what was found is written down, a
    document each round.
    """

    rule: MergeRule = MergeRule.SMART
    document: bool = False


class WriteDown(Struct, frozen=True):
    round: int


class Remember(Struct, frozen=True):
    items: tuple[int, ...]


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    if run.reviewing.fresh_from or run.reviewing.fresh:
        return missing(run, Action("items", Sort(options.rule), "findings become items"))
    known = _dismissed_before(run)
    if known and (
        first := missing(
            run, Action("remembered", Remember(known), f"{len(known)} were dismissed before")
        )
    ):
        return first
    return (
        missing(
            run, Action("document", WriteDown(run.position.round), "the findings are written down")
        )
        if options.document
        else ()
    )


async def write_down(task: WriteDown, run: Run, world: World) -> Reported:
    name, content = findings_document(run, task.round)
    return Reported(artifacts=(world.artifacts.write(name, content),))


def _dismissed_before(run: Run) -> tuple[int, ...]:
    told = run.started.dismissed
    return tuple(item.number for item in run.having(*ACTIONABLE) if item.fingerprint in told)


async def remember(task: Remember, run: Run, world: World) -> Dismissed:
    """What a person once dismissed stays dismissed, and stays on the list."""
    told = run.started.dismissed
    said = {number: told[run.items[number].fingerprint] for number in task.items}
    moves = tuple(
        Move(number, Fact.DISMISSED, by=each.by, why=f"{each.why} (dismissed in run {each.run})")
        for number, each in said.items()
    )
    return Dismissed(
        by=", ".join(sorted({each.by for each in said.values()})),
        why="dismissed in earlier runs",
        moves=moves,
    )


VERB = Verb(
    "reports become items", Options, step, {Sort: sort, Remember: remember, WriteDown: write_down}
)
