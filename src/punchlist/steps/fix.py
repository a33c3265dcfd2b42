"""fix: fixers turn batches into patches; what they say is a claim, no more."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec import Struct

from punchlist.model.item.batch import Batch
from punchlist.model.item.item import Fact, Item, Move
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Attempted
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Hunk, Original, hunks
from punchlist.model.patch.patch import Patch
from punchlist.ports.fixer import Fixed
from punchlist.ports.tree import Tree
from punchlist.ports.world import World
from punchlist.steps.support.agent_fix import AgentFix, fix_with_agent
from punchlist.steps.support.batching import key_of
from punchlist.steps.verb import Action, Verb, missing


class Mode(StrEnum):
    """FAN_OUT: punchlist runs the batches side by side, each in a tree of its own. SINGLE: one call
    has them all, and the agent spawns helpers of its own.
    """

    FAN_OUT = "fan-out"
    SINGLE = "single"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`mode`: how agents work in parallel. `sessions`: whether they go on with the conversation
    they had before.
    """

    mode: Mode = Mode.FAN_OUT
    sessions: bool = True


class Work(Struct, frozen=True):
    fixer: str
    batches: tuple[int, ...]


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:
    by_fixer: dict[str, list[int]] = defaultdict(list)
    agents: list[Batch] = []
    for batch in run.work.batches.values():
        agents.append(batch) if batch.by_agent else by_fixer[batch.fixer].append(batch.number)
    tools = [
        Action(name, Work(name, tuple(numbers)), f"{len(numbers)} fixes by {name}")
        for name, numbers in by_fixer.items()
    ]
    theirs = (
        _single(agents, options, place)
        if options.mode is Mode.SINGLE
        else _fan_out(agents, run, options, place)
    )
    return missing(run, *tools, *theirs)


def _single(batches: list[Batch], options: Options, place: str) -> Iterator[Action]:
    if batches:
        numbers = tuple(batch.number for batch in batches)
        task = AgentFix(numbers, f"{place} fixer", sessions=options.sessions)
        yield Action("agent", task, f"an agent works on {len(numbers)} batches at once")


def _fan_out(batches: list[Batch], run: Run, options: Options, place: str) -> Iterator[Action]:
    """A batch begins as soon as its files are free; first the one whose files have
    most work left.
    """
    left = [batch for batch in batches if _key(batch) not in run.position.here]
    load: dict[str, int] = defaultdict(int)
    for batch in left:
        for path in batch.paths:
            load[path] += len(batch.items)
    waiting = {
        number
        for number, earlier in run.work.after.items()
        if any(_open(each, run) for each in earlier)
    }
    for batch in sorted(
        left, key=lambda each: (-max((load[path] for path in each.paths), default=0), each.number)
    ):
        if batch.number not in waiting:
            task = AgentFix(
                (batch.number,),
                f"{place} fixer {batch.number}",
                fork=True,
                sessions=options.sessions,
            )
            about = f"an agent fixes {batch.title}"
            yield Action(_key(batch), task, about, holds=_held(batch, run))


def _key(batch: Batch) -> str:
    return f"batch {batch.number}"


def _open(number: int, run: Run) -> bool:
    return number in run.work.batches and f"batch {number}" not in run.position.here


def _held(batch: Batch, run: Run) -> frozenset[str]:
    """Its files, and those of what it builds on: whoever else builds on that must wait."""
    below = [
        patch.paths for patch in run.work.patches.values() if set(patch.paths) & set(batch.paths)
    ]
    return frozenset(batch.paths).union(*below)


async def work(task: Work, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    async with world.trees.at(run.landing.tip) as tree:
        answers = _answers(await world.fixers[task.fixer].fix(batches, run.items, tree))
        shown = _shown(
            {number: fixed.patch for number, fixed in answers.items() if fixed.patch}, tree
        )
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
        move for batch in batches for move in _moves(batch, run.items, refused.get(batch.number))
    )
    spent = Usage(seconds=world.clock() - began)
    return Attempted(
        fixer=task.fixer, patches=patches, refused=refused, hunks=shown, moves=moves, usage=spent
    )


def _answers(said: Iterable[Fixed]) -> dict[int, Fixed]:
    """One answer a batch; who says two different things of one has said nothing."""
    answers: dict[int, Fixed] = {}
    for fixed in said:
        known = answers.setdefault(fixed.batch, fixed)
        if known != fixed:
            answers[fixed.batch] = Fixed(
                batch=fixed.batch, refused="two answers contradict each other"
            )
    return answers


def _shown(patches: dict[int, Patch], tree: Tree) -> dict[int, tuple[Hunk, ...]]:
    """The patches as hunks, drawn while the files are at hand; each file is read once."""
    texts = {
        splice.path: tree.text(splice.path)
        for patch in patches.values()
        for splice in patch.splices
    }
    originals = {path: Original(path, text) for path, text in texts.items() if text is not None}
    return {number: hunks(patch, originals) for number, patch in patches.items()}


def _moves(batch: Batch, items: dict[int, Item], refused: str | None) -> list[Move]:
    if refused is None:
        return [
            Move(number, Fact.SAID_FIXED, by=batch.fixer, why=batch.title) for number in batch.items
        ]
    return [
        Move(number, Fact.SAID_DEFERRED, by=batch.fixer, why=refused, ref=key_of(items[number]))
        for number in batch.items
    ]


VERB = Verb(
    "fixers turn batches into patches", Options, step, {Work: work, AgentFix: fix_with_agent}
)
