"""fix: fixers turn batches into patches; what they say is a claim, no more."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from punchlist.model.events import Attempted
from punchlist.model.fixkey import fix_key
from punchlist.model.hunk import Hunk, Original, hunks
from punchlist.model.item import Fact, Item, Move
from punchlist.model.patch import Patch
from punchlist.model.plan import Batch
from punchlist.model.run import Run
from punchlist.model.usage import Usage
from punchlist.ports import Fixed, Tree, World
from punchlist.steps.verb import Action, NoOptions, Verb, missing


class Work(Struct, frozen=True):
    fixer: str
    batches: tuple[int, ...]


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    by_fixer: dict[str, list[int]] = defaultdict(list)
    for batch in run.work.batches.values():
        by_fixer[batch.fixer].append(batch.number)
    return missing(
        run, *(Action(name, Work(name, tuple(numbers)), f"{len(numbers)} fixes by {name}") for name, numbers in by_fixer.items())
    )


async def work(task: Work, run: Run, world: World) -> Attempted:
    began = world.clock()
    batches = [run.work.batches[number] for number in task.batches]
    async with world.trees.at(run.tip) as tree:
        answers = _answers(await world.fixers[task.fixer].fix(batches, run.items, tree))
        shown = _shown({number: fixed.patch for number, fixed in answers.items() if fixed.patch}, tree)
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
    moves = tuple(move for batch in batches for move in _moves(batch, run.items, refused.get(batch.number)))
    spent = Usage(seconds=world.clock() - began)
    return Attempted(fixer=task.fixer, patches=patches, refused=refused, hunks=shown, moves=moves, usage=spent)


def _answers(said: Iterable[Fixed]) -> dict[int, Fixed]:
    """One answer a batch; who says two different things of one has said nothing."""
    answers: dict[int, Fixed] = {}
    for fixed in said:
        known = answers.setdefault(fixed.batch, fixed)
        if known != fixed:
            answers[fixed.batch] = Fixed(batch=fixed.batch, refused="two answers contradict each other")
    return answers


def _shown(patches: dict[int, Patch], tree: Tree) -> dict[int, tuple[Hunk, ...]]:
    """The patches as hunks, drawn while the files are at hand; each file is read once."""
    texts = {splice.path: tree.text(splice.path) for patch in patches.values() for splice in patch.splices}
    originals = {path: Original(path, text) for path, text in texts.items() if text is not None}
    return {number: hunks(patch, originals) for number, patch in patches.items()}


def _moves(batch: Batch, items: dict[int, Item], refused: str | None) -> list[Move]:
    if refused is None:
        return [Move(number, Fact.SAID_FIXED, by=batch.fixer, why=batch.title) for number in batch.items]
    return [Move(number, Fact.SAID_DEFERRED, by=batch.fixer, why=refused, ref=key_of(items[number])) for number in batch.items]


def key_of(item: Item) -> str:
    """The name under which this item's present fix is remembered as tried."""
    return fix_key(item.current.fix) if item.current.fix else ""


VERB = Verb("fixers turn batches into patches", NoOptions, step, {Work: work})
