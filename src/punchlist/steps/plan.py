"""plan: choose the items of this round and group them in batches; overlapping fixes wait."""

from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.protected import Protected
from punchlist.model.item.batch import Batch
from punchlist.model.item.item import ACTIONABLE, Fact, Move, reading_order
from punchlist.model.ledger.events import Asked, Planned
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World
from punchlist.steps.support.batching import (
    CHURN,
    GONE,
    BatchPlan,
    Options,
    can_try,
    give_up_items,
    is_for_agent,
    make_batches,
)
from punchlist.steps.support.files import read_files, write_files
from punchlist.steps.support.fixed_point import settle_fixes
from punchlist.steps.support.project_context import build_task, open_tip
from punchlist.steps.verb import Action, Verb, select_pending
from punchlist.views.plans.plan_files import EditedPlan, plan_files, read_plan

GO, STOP = "a", "b"
_FOLDER = "plan"
_Order = Mapping[int, tuple[int, ...]]
"""What must come before, by number."""

__all__ = ["CHURN", "GO", "GONE", "STOP", "VERB", "Options", "can_try", "plan_batches"]


class Consider(Struct, frozen=True):
    """Ask the planner how to fix each item."""

    items: tuple[int, ...]
    label: str


class Arrange(Struct, frozen=True):
    options: Options


class Show(Struct, frozen=True):
    """Ask the user to confirm the plan; `problem` is what was wrong with the last version."""

    problem: str = ""


class Reread(Struct, frozen=True):
    """Read the plan files that the user may have edited."""


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    """Return the planner's action first, then the batches, then the question to the user, as the
    options say.
    """
    if not run.find_items(*ACTIONABLE):
        return ()
    here = run.position.here
    if options.planner and "planner" in run.started.crew and "todos" not in here:
        ordered = sorted(run.items.values(), key=reading_order)
        theirs = [item.number for item in ordered if is_for_agent(item, options, run)]
        wanted = tuple(number for number in theirs if number not in run.by_item.todos)
        if wanted:
            about = f"{run.started.crew['planner'][0]} plans {len(wanted)} items"
            task = Consider(wanted, f"{place} planner")
            return (Action("todos", task, about, role="planner"),)
    if "batches" not in here:
        return (Action("batches", Arrange(options), "batches are planned"),)
    if options.ask and options.files and run.position.round == 1:
        return _confirm_plan(run, place)
    return ()


def _confirm_plan(run: Run, place: str) -> tuple[Action, ...]:
    arranged = run.position.here.get("batches")
    asked = [question for question in run.asking.questions if question.place == place]
    if not isinstance(arranged, Planned) or not any(batch.uses_agent for batch in arranged.batches):
        return ()
    if not asked:
        return (Action("shown", Show(), "the plan is shown"),)
    if asked[-1].answer != GO:
        return ()
    key = f"read {len(asked)}"
    read = run.position.here.get(key)
    if not isinstance(read, Planned):
        return select_pending(run, Action(key, Reread(), "the plan is read again"))
    again = Action(f"shown {len(asked) + 1}", Show(read.failed), "the plan is shown again")
    return (again,) if read.failed else ()


async def ask_planner(task: Consider, run: Run, world: World) -> Planned:
    planner = world.crew.planner
    if planner is None:
        return Planned(batches=(), failed="no agent plays the planner any more")
    asked = await build_task(task.label, task.items, run, world)
    async with open_tip("planner", run, world) as tree:
        said = await planner.plan(asked, tree)
    return Planned(
        batches=(),
        todos=said.todos,
        after=said.after,
        agent=said.agent,
        session=said.session,
        transcript=said.transcript,
        failed=said.failed,
        usage=said.usage,
    )


async def arrange_batches(task: Arrange, run: Run, world: World) -> Planned:
    async with world.trees.open_tree(run.landing.tip) as tree:
        present = frozenset(tree.files())
    found = plan_batches(run, task.options, world.protected, present)
    found = await settle_fixes(found, run, world)
    plan = Planned(batches=found.batches, waiting=found.waiting, moves=found.moves)
    considered = run.position.here.get("todos")
    if isinstance(considered, Planned) and considered.after:
        plan = replace(plan, after=order_batches(plan.batches, considered.after))
    if task.options.files:
        plan = replace(plan, files=await _write_files(plan.batches, plan.after, run, world))
    return plan


def plan_batches(
    run: Run, options: Options, protected: Protected, present: frozenset[str]
) -> BatchPlan:
    moves = (*_block_deleted(run, present), *give_up_items(run, options))
    gone = {move.item for move in moves}
    wanted = [
        item
        for item in run.items.values()
        if item.number not in gone and can_try(item, options, run)
    ]
    found = make_batches(sorted(wanted, key=reading_order), run, options, protected)
    return replace(found, moves=moves)


def _block_deleted(run: Run, present: frozenset[str]) -> Iterator[Move]:
    for item in run.items.values():
        path = item.current.spot.path
        if item.in_scope and item.status in ACTIONABLE and path and path not in present:
            seen = f"{path} is not in the tree at {run.landing.tip[:12]}"
            yield Move(item.number, Fact.SAID_BLOCKED, by="punchlist", why=GONE, evidence=seen)


def order_batches(batches: tuple[Batch, ...], after: _Order) -> dict[int, tuple[int, ...]]:
    """Turn the order of items into an order of batches."""
    home = {item: batch.number for batch in batches for item in batch.items}
    found: dict[int, tuple[int, ...]] = {}
    for item, earlier in sorted(after.items()):
        if item in home:
            before = sorted({home[each] for each in earlier if each in home})
            found[home[item]] = (*found.get(home[item], ()), *before)
    return merge_orders(found)


def merge_orders(*rules: _Order) -> dict[int, tuple[int, ...]]:
    """Merge the rules, earlier ones first; a rule that would close a circle is dropped."""
    found: dict[int, tuple[int, ...]] = {}
    orders = [order for rule in rules for order in rule.items()]
    pairs = [(late, early) for late, earlier in orders for early in earlier]
    for late, early in pairs:
        known = found.get(late, ())
        if late != early and early not in known and not _waits_for(early, late, found):
            found[late] = (*known, early)
    return found


def _waits_for(batch: int, other: int, after: _Order) -> bool:
    """Return whether a batch comes after another, directly or through others."""
    return any(each == other or _waits_for(each, other, after) for each in after.get(batch, ()))


async def _write_files(
    batches: tuple[Batch, ...], after: _Order, run: Run, world: World
) -> tuple[str, ...]:
    mine = tuple(batch for batch in batches if batch.uses_agent)
    if not mine:
        return ()
    (readme,) = await write_files({f"{_FOLDER}/README.txt": _README}, world)
    files = plan_files(run, mine, readme.rpartition("/")[0], after=after)
    return await write_files({f"{_FOLDER}/{name}": files[name] for name in files}, world)


_README = b"""These files say how the items will be fixed. Change them before you answer the run's
question: steps and approach in fix_todo_*.json, the order in master_todo.json. An issue that you
remove from master_todo.json is not worked on in this round, and stays open.
"""


async def show_plan(task: Show, run: Run, world: World) -> Asked:
    arranged = run.position.here["batches"]
    files = arranged.files if isinstance(arranged, Planned) else ()
    where = files[0].rpartition("/")[0] if files else ""
    wrong = f"The plan cannot be used as it is: {task.problem}. " if task.problem else ""
    return Asked(
        question=f"{wrong}The plan is in {where}; change it there if you like.",
        choices={
            GO: "go on with the plan as it is in the files",
            STOP: "go on with the plan as it was, whatever the files say",
        },
    )


async def reread_plan(task: Reread, run: Run, world: World) -> Planned:
    """Return the batches as the plan files say now; items the user removed stay open."""
    arranged = run.position.here["batches"]
    batches = arranged.batches if isinstance(arranged, Planned) else ()
    after = arranged.after if isinstance(arranged, Planned) else {}
    mine = tuple(batch for batch in batches if batch.uses_agent)
    names = plan_files(run, mine, "", after=after)
    read = await read_files((f"{_FOLDER}/{name}" for name in names), world)
    texts = {path.removeprefix(f"{_FOLDER}/"): content for path, content in read.items()}
    edited = read_plan(texts, run, mine, after=after)
    if edited.problems:
        return Planned(batches=batches, after=after, failed="; ".join(edited.problems))
    kept = tuple(found for batch in batches if (found := _drop_items(batch, edited)) is not None)
    return Planned(
        batches=kept,
        todos=tuple(edited.todos.values()),
        after=merge_orders(order_batches(kept, edited.after), after),
        answers=edited.answers,
        moves=tuple(
            Move(number, Fact.SET_ASIDE, by="a person", why=why)
            for number, why in edited.dropped.items()
        ),
    )


def _drop_items(batch: Batch, edited: EditedPlan) -> Batch | None:
    items = tuple(number for number in batch.items if number not in edited.dropped)
    return replace(batch, items=items) if items else None


VERB = Verb(
    "items are put into batches",
    Options,
    step,
    {Consider: ask_planner, Arrange: arrange_batches, Show: show_plan, Reread: reread_plan},
    announced=True,
)
