"""Groups items in batches: one per distinct fix of a tool; for agents, items that share files."""

from collections.abc import Sequence
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
from punchlist.model.patch.patch import Patch, ReservedSpans, fix_key
from punchlist.ports.agent import AgentTrouble
from punchlist.steps.verb import VerbOptions

GONE = "Referenced file deleted"
CHURN = 2
"""An item that came back after so many of its own fixes is left to the user."""


_PASSING = frozenset(
    {
        AgentTrouble.TIMEOUT,
        AgentTrouble.SILENT,
        AgentTrouble.CRASHED,
        AgentTrouble.CUT,
        AgentTrouble.OTHER,
    }
)
"""Trouble after which an agent is asked again in the next round."""
ALONE = "alone"
"""The `ref` of an attempt whose change could not be told apart: the item is asked for alone."""
GROWN = "grown"
"""The `ref` of a tool's fix that did not hold together with more: it is tried as proposed."""


class Grouping(StrEnum):
    """FILE: all items of a file. ITEM: each alone. HINT: as the reviewer grouped them, else by
    file.
    """

    FILE = "file"
    ITEM = "item"
    HINT = "hint"


class Options(VerbOptions, frozen=True):
    """`floor`: the lowest severity worked on. `attempts`: the most attempts per item. `safety`: the
    least safe fixes tried.

    `agents`: whether they fix what no tool can. `group` and `size`: which items an agent gets
    at once, and how many. `planner`: an agent plans every item first. `files`: write the plan
    as files. `ask`: the user may edit them before the fixers start.
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


def can_try(item: Item, options: Options, run: Run | None = None) -> bool:
    """Return whether a tool or an agent can still try to fix the item."""
    return is_for_tool(item, options) or (run is not None and is_for_agent(item, options, run))


def is_for_tool(item: Item, options: Options) -> bool:
    """Return whether the item has a tool's fix that was not tried yet."""
    fix = item.current.fix
    return (
        fix is not None
        and _is_wanted(item, options)
        and _safety_rank(fix.safety) <= _safety_rank(options.safety)
        and fix_key(fix) not in item.rejected
    )


def is_for_agent(item: Item, options: Options, run: Run) -> bool:
    there = "fixer" in run.started.crew and not _is_out_of_reach(item, options)
    return there and options.agents and _is_wanted(item, options) and not is_for_tool(item, options)


def _is_out_of_reach(item: Item, options: Options) -> bool:
    """Return whether an agent gave no answer about it, and asking once more is of no use."""
    absences = [attempt for attempt in item.attempts if attempt.fact is Fact.ABSENT]
    passing = bool(absences) and absences[-1].ref in _PASSING
    return item.awaits_agent and not (passing and len(absences) < options.attempts)


def _is_wanted(item: Item, options: Options) -> bool:
    return (
        item.in_scope
        and item.status in ACTIONABLE
        and item.severity.rank <= options.floor.rank
        and item.tries < options.attempts
        and item.undone < CHURN
    )


def _safety_rank(safety: Safety) -> int:
    return list(Safety).index(safety)


def give_up_items(run: Run, options: Options) -> tuple[Move, ...]:
    """Return moves that block items which agents deferred and which are out of attempts."""
    if "fixer" not in run.started.crew:
        return ()
    return tuple(
        Move(item.number, Fact.SAID_BLOCKED, by="punchlist", why=_explain_giving_up(item))
        for item in run.find_items(*ACTIONABLE)
        if item.in_scope
        and item.tries >= options.attempts
        and any(attempt.fact is Fact.SAID_DEFERRED for attempt in item.attempts)
    )


def _explain_giving_up(item: Item) -> str:
    """Return how often it was tried, and the reason of the last failure."""
    setbacks = (Fact.SAID_DEFERRED, Fact.EXCUSE_REFUSED, Fact.REJECTED, Fact.CONTESTED)
    reasons = [each.why for each in item.attempts if each.fact in setbacks and each.why]
    last = f"; the last one: {reasons[-1]}" if reasons else ""
    return f"{item.tries} attempts failed{last}"


class BatchPlan(Struct, frozen=True):
    """`waiting`: how many items wait for the next round; `overlapping`: those of them whose fix by
    a tool overlaps another.
    """

    batches: tuple[Batch, ...]
    waiting: int
    overlapping: tuple[Item, ...] = ()
    moves: tuple[Move, ...] = ()


def make_batches(
    items: Sequence[Item], run: Run, options: Options, protected: Protected
) -> BatchPlan:
    """Group tools' fixes first; an agent's items in the same files wait for the next round."""
    fixable = [item for item in items if is_for_tool(item, options)]
    tools, waiting = _batch_tool_fixes(fixable, protected)
    busy = {path for batch in tools for path in batch.paths}
    theirs = [item for item in items if is_for_agent(item, options, run)]
    free = [item for item in theirs if item.current.spot.path not in busy]
    groups = _group_items(free, run, options)
    agents = [_make_agent_batch(group, run.by_item.todos) for group in groups]
    numbered = enumerate([*tools, *agents], run.last_batch + 1)
    batches = tuple(replace(batch, number=number) for number, batch in numbered)
    return BatchPlan(batches, len(waiting) + len(theirs) - len(free), waiting)


def _batch_tool_fixes(
    items: list[Item], protected: Protected
) -> tuple[list[Batch], tuple[Item, ...]]:
    """Return one batch per distinct fix, and the items that wait because their fix overlaps."""
    together: dict[Patch, list[Item]] = {}
    for item in items:
        if item.current.fix is not None:
            together.setdefault(Patch(splices=item.current.fix.splices), []).append(item)
    drafts = [_make_tool_batch(patch, same, protected) for patch, same in together.items()]
    known = {item.number: item for item in items}
    taken = ReservedSpans(adjoining=True)
    batches: list[Batch] = []
    waiting: list[Item] = []
    for draft in sorted(drafts, key=lambda batch: batch.level):
        if draft.patch is not None and taken.admits(draft.patch):
            taken.reserve(draft.patch)
            batches.append(draft)
        else:
            waiting += (known[number] for number in draft.items)
    return batches, tuple(waiting)


def name_batch(items: Sequence[Item]) -> str:
    """Return the title of a tool's fix: its finding, or the rules of several."""
    titles = {(item.current.rule, item.current.title) for item in items}
    rules = sorted({rule for rule, _ in titles if rule})
    if len(titles) > 1 and rules:
        return f"{', '.join(rules)}: {len(items)} items"
    lead = items[0].current
    return f"{lead.rule}: {lead.title}" if lead.rule else lead.title


def _make_tool_batch(patch: Patch, items: list[Item], protected: Protected) -> Batch:
    judges = [protected.holds(path) for path in patch.paths]
    offered = [item.current.fix.safety for item in items if item.current.fix]
    return Batch(
        number=0,
        items=tuple(item.number for item in items),
        fixer="edits",
        title=name_batch(items),
        paths=patch.paths,
        safety=max(offered, key=list(Safety).index, default=Safety.SAFE),
        protected=any(judges),
        mixed=any(judges) and not all(judges),
        patch=patch,
    )


def _make_agent_batch(items: Sequence[Item], todos: dict[int, Todo]) -> Batch:
    lead = items[0].current
    more = f" and {len(items) - 1} more" if len(items) > 1 else ""
    return Batch(
        number=0,
        items=tuple(item.number for item in items),
        fixer=AGENT,
        title=f"{lead.title}{more}",
        paths=tuple(sorted({path for item in items for path in find_paths(item, todos)})),
        safety=Safety.DISPLAY,
    )


def find_paths(item: Item, todos: dict[int, Todo]) -> tuple[str, ...]:
    """Return the item's files: where it was found, and those in its plan."""
    todo = todos.get(item.number)
    named = (item.current.spot.path, *(todo.files if todo else ()))
    return tuple(dict.fromkeys(path for path in named if path))


def _group_items(items: Sequence[Item], run: Run, options: Options) -> list[list[Item]]:
    if options.group is Grouping.ITEM:
        return [[item] for item in items]
    hints: dict[str, str] = {}
    if options.group is Grouping.HINT:
        hints = {
            name: str(index) for index, group in enumerate(run.reviewing.hints) for name in group
        }
    groups: dict[str, list[Item]] = {}
    for item in items:
        own = f"item {item.number}"
        named = hints.get(item.lead.id, item.current.spot.path or own)
        groups.setdefault(own if must_be_alone(item) else named, []).append(item)
    size = options.size
    return [
        group[start : start + size]
        for group in groups.values()
        for start in range(0, len(group), max(1, size))
    ]


def must_be_alone(item: Item) -> bool:
    """Return whether an earlier change of it could not be told apart from another item's."""
    return any(attempt.ref == ALONE for attempt in item.attempts)


def may_grow(item: Item) -> bool:
    """Return whether its fix by a tool may become one with others."""
    return GROWN not in item.rejected


def current_fix_key(item: Item) -> str:
    """Return the key under which the item's current fix is recorded as tried, or ''."""
    return fix_key(item.current.fix) if item.current.fix else ""


def tried_key(batch: Batch, item: Item) -> str:
    """Return the key under which the failure of an item's batch is recorded. A grown batch tells
    nothing of the fix that the tool proposed.
    """
    return GROWN if batch.grown else current_fix_key(item)


def standing(run: Run) -> list[Batch]:
    """Return the batches that the verification let pass; none if there was no verification."""
    numbers = run.work.verified.passed if run.work.verified is not None else ()
    return [run.work.batches[number] for number in numbers if number in run.work.batches]
