"""clarify: an agent asks the user what is unclear about the items, in rounds."""

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.finding.severity import Severity
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import ACTIONABLE, Item, reading_order
from punchlist.model.ledger.events import Clarified
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.support.project_context import build_task, open_tip
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending
from punchlist.views.plans.plan_forms import issue_code, item_code


class Options(VerbOptions, frozen=True):
    """`rounds`: how often the agent may ask. `floor`: the lowest severity it asks about."""

    rounds: int = 3
    floor: Severity = Severity.MINOR


class Inquire(Struct, frozen=True):
    turn: int
    items: tuple[int, ...]
    label: str


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Return nothing while the user must answer, or once the agent is ready, failed, or out of
    rounds.
    """
    past = [event for event in run.position.here.values() if isinstance(event, Clarified)]
    over = run.asking.clear or len(past) >= options.rounds or any(event.failed for event in past)
    items = tuple(item.number for item in _select_items(run, options))
    if over or run.unanswered or not items or "clarifier" not in run.started.crew:
        return ()
    turn = len(past) + 1
    about = f"{run.started.crew['clarifier'][0]} looks for what is unclear"
    task = Inquire(turn, items, f"{place} clarifier {turn}")
    return select_pending(run, Action(f"questions {turn}", task, about, role="clarifier"))


def _select_items(run: Run, options: Options) -> list[Item]:
    wanted = [
        item
        for item in run.find_items(*ACTIONABLE)
        if item.in_scope and item.severity.rank <= options.floor.rank
    ]
    return sorted(wanted, key=reading_order)


async def ask_clarifier(task: Inquire, run: Run, world: World) -> Clarified:
    clarifier = world.crew.clarifier
    if clarifier is None:
        return Clarified(failed="no agent plays the clarifier any more")
    asked = await build_task(task.label, task.items, run, world)
    async with open_tip("clarifier", run, world) as tree:
        said = await clarifier.clarify(asked, tree)
    known = {doubt.id for doubt in run.asking.doubts.values()}
    named = (_rename_doubt(doubt, run) for doubt in said.doubts)
    return Clarified(
        doubts=tuple(doubt for doubt in named if doubt.id not in known),
        ready=said.ready and not said.failed,
        failed=said.failed,
        agent=said.agent,
        session=said.session,
        transcript=said.transcript,
        usage=said.usage,
    )


def _rename_doubt(doubt: Doubt, run: Run) -> Doubt:
    """Return the question with an id that begins with the item's code as its client has it."""
    number = doubt.id.removeprefix(item_code(doubt.item))
    return replace(doubt, id=f"{issue_code(run, doubt.item)}{number}")


VERB = Verb("what is unclear is asked", Options, step, {Inquire: ask_clarifier})
