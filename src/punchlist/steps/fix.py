"""fix: fixers turn batches into patches, which are claims until verified."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Attempted
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Hunk, OriginalFile, make_hunks
from punchlist.model.patch.patch import Patch
from punchlist.ports.fixer import BatchFix
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.support.agent_fix import AgentFix, fix_with_agent
from punchlist.steps.support.batching import must_be_alone, tried_key
from punchlist.steps.verb import Action, Verb, VerbOptions, select_pending


class Mode(StrEnum):
    """FAN_OUT: batches run in parallel, each in its own tree. SINGLE: one call gets all batches,
    and the agent starts its own helpers.
    """

    FAN_OUT = "fan-out"
    SINGLE = "single"


class Options(VerbOptions, frozen=True):
    """`mode`: how agents work in parallel. `sessions`: whether they continue their earlier
    conversation. `timeout`: seconds one call of the fixer may take, unless the settings say it.
    """

    mode: Mode = Mode.FAN_OUT
    sessions: bool = True
    timeout: Annotated[float, Meta(ge=0)] = 0


class ToolFix(Struct, frozen=True):
    fixer: str
    batches: tuple[int, ...]


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    by_fixer: dict[str, list[int]] = defaultdict(list)
    agents: list[Batch] = []
    for batch in run.work.batches.values():
        agents.append(batch) if batch.uses_agent else by_fixer[batch.fixer].append(batch.number)
    tools = [
        Action(name, ToolFix(name, tuple(numbers)), f"{len(numbers)} fixes by {name}")
        for name, numbers in by_fixer.items()
    ]
    if options.mode is Mode.SINGLE:
        alone = [batch for batch in agents if _is_alone(batch, run)]
        together = [batch for batch in agents if batch not in alone]
        if together and "agent" not in run.position.here:  # else both would edit the same files
            return select_pending(run, *tools, *_plan_single(together, options, place))
        return select_pending(run, *tools, *_plan_fan_out(alone, run, options, place))
    return select_pending(run, *tools, *_plan_fan_out(agents, run, options, place))


def _plan_single(batches: list[Batch], options: Options, place: str) -> Iterator[Action]:
    if batches:
        numbers = tuple(batch.number for batch in batches)
        task = AgentFix(numbers, f"{place} fixer", sessions=options.sessions)
        about = f"an agent works on {len(numbers)} batches at once"
        yield Action("agent", task, about, role="fixer")


def _is_alone(batch: Batch, run: Run) -> bool:
    return any(must_be_alone(run.items[number]) for number in batch.items if number in run.items)


def _plan_fan_out(batches: list[Batch], run: Run, options: Options, place: str) -> Iterator[Action]:
    """Yield an action per batch that waits for no other, first those whose files have most items
    left.
    """
    left = [batch for batch in batches if _is_pending(batch.number, run)]
    load: dict[str, int] = defaultdict(int)
    for batch in left:
        for path in batch.paths:
            load[path] += len(batch.items)

    def order(batch: Batch) -> tuple[int, int]:
        return -max((load[path] for path in batch.paths), default=0), batch.number

    for batch in sorted(left, key=order):
        number = batch.number
        if not any(_is_pending(each, run) for each in run.work.after.get(number, ())):
            label = f"{place} fixer {number}"
            task = AgentFix((number,), label, fork=True, sessions=options.sessions)
            about = f"an agent fixes {batch.title}"
            held = _held_paths(batch, run)
            yield Action(f"batch {number}", task, about, holds=held, role="fixer")


def _is_pending(number: int, run: Run) -> bool:
    return number in run.work.batches and f"batch {number}" not in run.position.here


def _held_paths(batch: Batch, run: Run) -> frozenset[str]:
    """Return the batch's files and those of the patches it builds on."""
    own = frozenset(batch.paths)
    patched = [patch.paths for patch in run.work.patches.values()]
    return own.union(*(paths for paths in patched if not own.isdisjoint(paths)))


async def run_tool_fixer(task: ToolFix, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    async with world.trees.open_tree(run.landing.tip) as tree:
        answers = _merge_answers(await world.fixers[task.fixer].fix(batches, run.items, tree))
        offered = {number: answer.patch for number, answer in answers.items() if answer.patch}
        hunks = _build_hunks(offered, tree)
    patches: dict[int, Patch] = {}
    refused: dict[int, str] = {}
    for batch in batches:
        answer = answers.get(batch.number)
        if answer is None:
            refused[batch.number] = "no status was given"
        elif not answer.patch:
            refused[batch.number] = answer.refused or "no change was made"
        else:
            patches[batch.number] = answer.patch
    moves = tuple(
        move
        for batch in batches
        for move in _build_moves(batch, run.items, refused.get(batch.number))
    )
    spent = Usage(seconds=world.clock() - began)
    return Attempted(
        fixer=task.fixer, patches=patches, refused=refused, hunks=hunks, moves=moves, usage=spent
    )


def _merge_answers(said: Iterable[BatchFix]) -> dict[int, BatchFix]:
    """Return one answer per batch; two different answers count as a refusal."""
    answers: dict[int, BatchFix] = {}
    for fixed in said:
        if answers.setdefault(fixed.batch, fixed) != fixed:
            why = "two answers contradict each other"
            answers[fixed.batch] = BatchFix(batch=fixed.batch, refused=why)
    return answers


def _build_hunks(patches: dict[int, Patch], tree: Tree) -> dict[int, tuple[Hunk, ...]]:
    """Return the patches as hunks; each file is read once."""
    paths = {splice.path for patch in patches.values() for splice in patch.splices}
    texts = {path: tree.text(path) for path in paths}
    originals = {path: OriginalFile(path, text) for path, text in texts.items() if text is not None}
    return {number: make_hunks(patch, originals) for number, patch in patches.items()}


def _build_moves(batch: Batch, items: Mapping[int, Item], refused: str | None) -> list[Move]:
    by = batch.fixer
    if refused is None:
        return [Move(item, Fact.SAID_FIXED, by=by, why=batch.title) for item in batch.items]
    keys = {item: tried_key(batch, items[item]) for item in batch.items}
    return [
        Move(item, Fact.SAID_DEFERRED, by=by, why=refused, ref=key) for item, key in keys.items()
    ]


VERB = Verb(
    "fixers turn batches into patches",
    Options,
    step,
    {ToolFix: run_tool_fixer, AgentFix: fix_with_agent},
    announced=True,
    portable=frozenset({AgentFix}),
)
