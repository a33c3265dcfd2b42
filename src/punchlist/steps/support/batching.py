"""Which items are worked on together: one batch per distinct fix of a tool; for agents, what shares
files.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.checks.protected import Protected
from punchlist.model.finding.finding import Safety
from punchlist.model.finding.severity import Severity
from punchlist.model.item.batch import AGENT, Batch
from punchlist.model.item.item import ACTIONABLE, Fact, Item, Move
from punchlist.model.item.todo import Todo
from punchlist.model.ledger.run import Run
from punchlist.model.patch.patch import Patch, Taken, fix_key

CHURN = 2
"""An item that came back after so many of its own fixes is left to a person: another would come
back, too.
"""


class Grouping(StrEnum):
    """FILE: the items of a file together. ITEM: each alone. HINT: as the reviewer grouped them,
    else by file.
    """

    FILE = "file"
    ITEM = "item"
    HINT = "hint"


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """`floor`: the least severity worked on. `attempts`: after so many an item is left. `safety`:
    the boldest fixes tried.

    `agents`: whether they work on what no tool can fix. `group` and `size`: which items an agent
    gets at once, and how many. `planner`: an agent plans every item first. `files`: the plan is
    written as files. `ask`: a person may change them before anybody starts.
    """

    floor: Severity = Severity.MINOR
    attempts: int = 3
    safety: Safety = Safety.DISPLAY
    agents: bool = True
    group: Grouping = Grouping.FILE
    size: int = 8
    planner: bool = False
    files: bool = False
    ask: bool = False


def tryable(item: Item, options: Options, run: Run | None = None) -> bool:
    """Whether there is somebody who could still try something about it."""
    return by_tool(item, options) or (run is not None and by_agent(item, options, run))


def by_tool(item: Item, options: Options) -> bool:
    """Whether there is a fix for it that was not tried yet."""
    fix = item.current.fix
    return (
        fix is not None
        and _wanted(item, options)
        and _bold(fix.safety) <= _bold(options.safety)
        and fix_key(fix) not in item.rejected
    )


def by_agent(item: Item, options: Options, run: Run) -> bool:
    there = "fixer" in run.started.crew
    return there and options.agents and _wanted(item, options) and not by_tool(item, options)


def _wanted(item: Item, options: Options) -> bool:
    return (
        item.in_scope
        and item.status in ACTIONABLE
        and item.severity.rank <= options.floor.rank
        and item.tries < options.attempts
        and item.undone < CHURN
    )


def _bold(safety: Safety) -> int:
    return list(Safety).index(safety)


def given_up(run: Run, options: Options) -> tuple[Move, ...]:
    """Put off by agents too often: those are not asked again."""
    if "fixer" not in run.started.crew:
        return ()
    theirs = [
        item for item in run.having(*ACTIONABLE) if item.in_scope and item.tries >= options.attempts
    ]
    put_off = [
        item
        for item in theirs
        if any(attempt.fact is Fact.SAID_DEFERRED for attempt in item.attempts)
    ]
    return tuple(
        Move(item.number, Fact.SAID_BLOCKED, by="punchlist", why=f"{item.tries} attempts failed")
        for item in put_off
    )


class Batched(Struct, frozen=True):
    batches: tuple[Batch, ...]
    waiting: int


def batched(items: Sequence[Item], run: Run, options: Options, protected: Protected) -> Batched:
    """Tools first: what they are about to change an agent would find changed, so it waits for the
    next round.
    """
    tools, waiting = _of_tools([item for item in items if by_tool(item, options)], protected)
    busy = {path for batch in tools for path in batch.paths}
    theirs = [item for item in items if by_agent(item, options, run)]
    free = [item for item in theirs if item.current.spot.path not in busy]
    agents = [_agents(group, run.by_item.todos) for group in _groups(free, run, options)]
    numbered = tuple(
        replace(batch, number=number)
        for number, batch in enumerate([*tools, *agents], run.last_batch + 1)
    )
    return Batched(numbered, waiting + len(theirs) - len(free))


def _of_tools(items: list[Item], protected: Protected) -> tuple[list[Batch], int]:
    """One batch per distinct fix; a fix that overlaps one already taken waits."""
    together: dict[Patch, list[Item]] = {}
    for item in items:
        if item.current.fix is not None:
            together.setdefault(Patch(splices=item.current.fix.splices), []).append(item)
    drafts = [_tools(patch, same, protected) for patch, same in together.items()]
    taken = Taken()
    batches: list[Batch] = []
    waiting = 0
    for draft in sorted(drafts, key=lambda batch: batch.level):
        if draft.patch is not None and taken.admits(draft.patch):
            taken.take(draft.patch)
            batches.append(draft)
        else:
            waiting += len(draft.items)
    return batches, waiting


def _tools(patch: Patch, items: list[Item], protected: Protected) -> Batch:
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


def _agents(items: Sequence[Item], todos: dict[int, Todo]) -> Batch:
    lead = items[0].current
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return Batch(
        number=0,
        items=tuple(item.number for item in items),
        fixer=AGENT,
        title=f"{lead.title}{more}",
        paths=tuple(sorted({path for item in items for path in paths_of(item, todos)})),
        safety=Safety.DISPLAY,
    )


def paths_of(item: Item, todos: dict[int, Todo]) -> tuple[str, ...]:
    """The files an item is about, as far as is known: where it was found, and where its plan says
    it will be fixed.
    """
    todo = todos.get(item.number)
    named = (item.current.spot.path, *(todo.files if todo else ()))
    return tuple(dict.fromkeys(path for path in named if path))


def _groups(items: Sequence[Item], run: Run, options: Options) -> list[list[Item]]:
    match options.group:
        case Grouping.ITEM:
            return [[item] for item in items]
        case Grouping.FILE:
            return _chunked(
                _by(items, lambda item: item.current.spot.path or f"item {item.number}"),
                options.size,
            )
        case Grouping.HINT:
            hint = {
                name: index for index, group in enumerate(run.reviewing.hints) for name in group
            }
            return _chunked(
                _by(
                    items,
                    lambda item: str(
                        hint.get(item.lead.id, item.current.spot.path or f"item {item.number}")
                    ),
                ),
                options.size,
            )


def _by(items: Sequence[Item], key: Callable[[Item], str]) -> Iterable[list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def _chunked(groups: Iterable[list[Item]], size: int) -> list[list[Item]]:
    return [
        group[start : start + size]
        for group in groups
        for start in range(0, len(group), max(1, size))
    ]


def key_of(item: Item) -> str:
    """The name under which this item's present fix is remembered as tried."""
    return fix_key(item.current.fix) if item.current.fix else ""


def standing(run: Run) -> list[Batch]:
    """Batches that the verification let pass; where there was none, or it failed,
    nothing stands.
    """
    numbers = run.work.verified.passed if run.work.verified is not None else ()
    return [run.work.batches[number] for number in numbers if number in run.work.batches]
