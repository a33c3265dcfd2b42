"""report: what is left is filed with its history, and the run is told in every format."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import ToolError
from punchlist.model.dedup.merge import MergeRule
from punchlist.model.item.item import ENDED, Fact, Item, Move, Status, reading_order
from punchlist.model.ledger.events import Debt, Filed, Reported
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.support.item_matching import Sort, sort
from punchlist.steps.verb import Action, Verb, missing
from punchlist.views.issue_text import Dossier, dossier

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


class Settle(Struct, frozen=True):
    """The debts of earlier runs."""

    owed: tuple[Debt, ...]


class Tell(Struct, frozen=True):
    pass


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """One thing after the other: what a limit kept from becoming items does so here, so that no
    finding ends nowhere.
    """
    wanted = [
        item.number
        for item in sorted(run.left, key=reading_order)
        if _to_file(item, options) and item.number not in run.filing.unfiled
    ]
    # Named by their first item: what is left shrinks as chunks are filed, and a finished chunk must
    # not be named again.
    chunks = [
        Action(f"file {numbers[0]}", File(tuple(numbers)), f"{len(numbers)} items are filed")
        for numbers in _chunks(wanted)
    ]
    unsorted = (
        [Action("items", Sort(MergeRule.SMART), "findings become items")]
        if run.reviewing.fresh
        else []
    )
    owed = run.started.owed if options.file is not Filing.NONE else ()
    debts = (
        [Action("debts", Settle(owed), f"{len(owed)} items of earlier runs are filed")]
        if owed
        else []
    )
    first = missing(run, *unsorted, *chunks, *debts)[:1]
    return first or missing(run, Action("report", Tell(), "reports are written"))


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
    refs, failed = await _given(
        [dossier(run.items[number], run.id) for number in task.items], world
    )
    moves = tuple(
        Move(number, Fact.FILED, by=world.tracker.name, why="left over", ref=ref)
        for number, ref in refs.items()
    )
    return Filed(tracker=world.tracker.name, moves=moves, failed=failed)


async def settle(task: Settle, run: Run, world: World) -> Filed:
    """What this run has fixed or somebody dismissed needs no issue any more; the rest is filed
    under its own run and number.
    """
    done = {item.fingerprint for item in run.having(Status.FIXED, Status.DISMISSED)}
    settled = {debt.name: "" for debt in task.owed if debt.item.fingerprint in done}
    owed: dict[str, str] = {}
    for run_id in dict.fromkeys(debt.run for debt in task.owed):
        due = [
            debt.item
            for debt in task.owed
            if debt.run == run_id and debt.item.fingerprint not in done
        ]
        refs, failed = await _given([dossier(item, run_id) for item in due], world)
        settled |= {f"{run_id}/{number}": ref for number, ref in refs.items()}
        owed |= {f"{run_id}/{number}": why for number, why in failed.items()}
    return Filed(tracker=world.tracker.name, settled=settled, owed=owed)


async def _given(
    dossiers: Sequence[Dossier], world: World
) -> tuple[dict[int, str], dict[int, str]]:
    """By item: the issue it is now, and why others are none; one the tracker does not mention is
    none.
    """
    silence = "the tracker did not answer for it"
    try:
        filings = {
            filing.item: filing
            for filing in (await world.tracker.file(dossiers) if dossiers else ())
        }
    except ToolError as error:
        filings, silence = {}, str(error)
    refs: dict[int, str] = {}
    failed: dict[int, str] = {}
    for number in (each.item.number for each in dossiers):
        filing = filings.get(number)
        if filing is not None and not filing.failed:
            refs[number] = filing.ref
        else:
            failed[number] = filing.failed if filing is not None else silence
    return refs, failed


async def tell(task: Tell, run: Run, world: World) -> Reported:
    """The reports tell the run as it ends: what is left to do after this is to say so in the
    ledger.
    """
    listed = tuple(item.number for item in run.items.values() if item.status not in ENDED)
    filing = replace(run.filing, listed=listed)
    ended = replace(run, filing=filing, ended=outcome(run).value)
    rendered = {
        name: content for name, render in world.reports.items() if (content := render(ended))
    }
    written = tuple(world.artifacts.write(name, content) for name, content in rendered.items())
    return Reported(artifacts=written, listed=listed)


VERB = Verb(
    "unresolved items are filed, and reports are written",
    Options,
    step,
    {Sort: sort, File: file, Settle: settle, Tell: tell},
    last=True,
)
