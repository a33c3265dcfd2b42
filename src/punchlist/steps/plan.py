"""plan: which items are worked on this round, in which batches; what overlaps waits for the next."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.events import Planned
from punchlist.model.finding import Safety
from punchlist.model.fixkey import fix_key
from punchlist.model.item import ACTIONABLE, Fact, Item, Move, reading_order
from punchlist.model.patch import Patch, Taken
from punchlist.model.plan import Batch
from punchlist.model.protected import Protected
from punchlist.model.run import Run
from punchlist.model.severity import Severity
from punchlist.ports import World
from punchlist.steps.verb import Action, Verb, missing

GONE = "Referenced file deleted"
CHURN = 2
"""An item that came back after so many of its own fixes is left to a person: another would come back, too."""


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`floor`: the least severity worked on. `attempts`: after so many an item is left. `safety`: the boldest fixes tried."""

    floor: Severity = Severity.MINOR
    attempts: int = 3
    safety: Safety = Safety.DISPLAY


class Arrange(Struct, frozen=True):
    options: Options


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    return missing(run, Action("batches", Arrange(options), "batches are planned")) if run.having(*ACTIONABLE) else ()


async def arrange(task: Arrange, run: Run, world: World) -> Planned:
    async with world.trees.at(run.tip) as tree:
        present = frozenset(tree.files())
    return planned(run, task.options, world.protected, present)


def planned(run: Run, options: Options, protected: Protected, present: frozenset[str]) -> Planned:
    moves = tuple(_blocked(run, present))
    gone = {move.item for move in moves}
    wanted = [item for item in run.items.values() if item.number not in gone and tryable(item, options)]
    batches, waiting = _batched(sorted(wanted, key=reading_order), protected, run.last_batch + 1)
    return Planned(batches=tuple(batches), waiting=waiting, moves=moves)


def tryable(item: Item, options: Options) -> bool:
    """Whether there is a fix for it that was not tried yet."""
    fix = item.current.fix
    return (
        fix is not None
        and item.in_scope
        and item.status in ACTIONABLE
        and item.severity.rank <= options.floor.rank
        and item.tries < options.attempts
        and item.undone < CHURN
        and _bold(fix.safety) <= _bold(options.safety)
        and fix_key(fix) not in item.rejected
    )


def _bold(safety: Safety) -> int:
    return list(Safety).index(safety)


def _blocked(run: Run, present: frozenset[str]) -> Iterable[Move]:
    for item in run.items.values():
        path = item.current.spot.path
        if item.in_scope and item.status in ACTIONABLE and path and path not in present:
            yield Move(
                item.number, Fact.SAID_BLOCKED, by="punchlist", why=GONE, evidence=f"{path} is not in the tree at {run.tip[:12]}"
            )


def _batched(items: list[Item], protected: Protected, first: int) -> tuple[list[Batch], int]:
    """One batch per distinct fix; a fix that overlaps one already taken waits."""
    together: dict[Patch, list[Item]] = {}
    for item in items:
        if item.current.fix is not None:
            together.setdefault(Patch(splices=item.current.fix.splices), []).append(item)
    drafts = [_batch(patch, same, protected) for patch, same in together.items()]
    taken = Taken()
    batches: list[Batch] = []
    waiting = 0
    for draft in sorted(drafts, key=lambda batch: batch.level):
        if draft.patch is not None and taken.admits(draft.patch):
            taken.take(draft.patch)
            batches.append(draft)
        else:
            waiting += len(draft.items)
    return [replace(batch, number=number) for number, batch in enumerate(batches, first)], waiting


def _batch(patch: Patch, items: list[Item], protected: Protected) -> Batch:
    lead = items[0].current
    name = f"{lead.rule}: {lead.title}" if lead.rule else lead.title
    judges = [protected.holds(path) for path in patch.paths]
    return Batch(
        number=0,
        items=tuple(item.number for item in items),
        fixer="edits",
        title=name,
        paths=patch.paths,
        safety=lead.fix.safety if lead.fix else Safety.SAFE,
        protected=any(judges),
        mixed=any(judges) and not all(judges),
        patch=patch,
    )


VERB = Verb("items are put into batches", Options, step, {Arrange: arrange})
