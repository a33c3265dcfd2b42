"""report: what is left is filed with its history, and the run is told in every format."""

from enum import StrEnum

from msgspec import Struct

from punchlist.model.dossier import dossier
from punchlist.model.events import Filed, Reported
from punchlist.model.item import ENDED, Fact, Item, Move, reading_order
from punchlist.model.run import Run
from punchlist.ports import World
from punchlist.steps.verb import Action, Verb, missing

CHUNK = 500


class Filing(StrEnum):
    ALL = "all"
    MUST_FIX = "must-fix"
    NONE = "none"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`file`: which leftovers go to the tracker; the others are listed."""

    file: Filing = Filing.ALL


class File(Struct, frozen=True):
    items: tuple[int, ...]


class Tell(Struct, frozen=True):
    pass


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    wanted = [
        item.number for item in sorted(run.left, key=reading_order) if _to_file(item, options) and item.number not in run.unfiled
    ]
    # Named by their first item: what is left shrinks as chunks are filed, and a finished chunk must not be named again.
    chunks = [
        Action(f"file {numbers[0]}", File(tuple(numbers)), f"{len(numbers)} leftovers are filed") for numbers in _chunks(wanted)
    ]
    filing = missing(run, *chunks[:1])
    return filing or missing(run, Action("report", Tell(), "reports are written"))


def _chunks(numbers: list[int]) -> list[list[int]]:
    return [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]


def _to_file(item: Item, options: Options) -> bool:
    match options.file:
        case Filing.ALL:
            return True
        case Filing.MUST_FIX:
            return item.must_fix
        case Filing.NONE:
            return False


async def file(task: File, run: Run, world: World) -> Filed:
    filings = await world.tracker.file([dossier(run.items[number], run.id) for number in task.items])
    moves = tuple(
        Move(filing.item, Fact.FILED, by=world.tracker.name, why="left over", ref=filing.ref)
        for filing in filings
        if not filing.failed
    )
    answered = {filing.item for filing in filings}
    failed = {filing.item: filing.failed for filing in filings if filing.failed}
    failed |= {number: "the tracker did not answer for it" for number in task.items if number not in answered}
    return Filed(tracker=world.tracker.name, moves=moves, failed=failed)


async def tell(task: Tell, run: Run, world: World) -> Reported:  # noqa: ARG001 - the signature of every performer
    written = tuple(world.artifacts.write(name, render(run)) for name, render in world.reports.items())
    listed = tuple(item.number for item in run.items.values() if item.status not in ENDED)
    return Reported(artifacts=written, listed=listed)


VERB = Verb("what is left is filed, and the run is told", Options, step, {File: file, Tell: tell}, last=True)
