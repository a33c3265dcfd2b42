"""The items of a run in groups by rule, file or severity: what is unresolved comes first."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import nsmallest
from typing import Self

from msgspec import Struct

from punchlist.model.finding.severity import Severity, worst_severity
from punchlist.model.item.item import ENDED, Item, Status, reading_order
from punchlist.model.item.proof import strongest_proof
from punchlist.model.ledger.run import Run
from punchlist.views.issue_text import format_place
from punchlist.views.item_list import ItemHead
from punchlist.views.item_words import unfixed_reason
from punchlist.views.tables.paging import fit_page

ROWS = 100
"""Rows of one group on a page that shows only this group."""
_FIRST_ROWS = 10
"""Rows of each group on a page that shows all groups."""
_MOST_ROWS = 80
"""Rows of all groups together on such a page; later groups have only their headings."""
_OPENED = 40
"""Rows after which groups are shown closed."""
_GROUPS = 50
_NOT_DISMISSED = (Status.FIXED, Status.DISMISSED, Status.CLAIMED)


class TableGrouping(StrEnum):
    RULE = "rule"
    FILE = "file"
    SEVERITY = "severity"


_KEYS: dict[TableGrouping, Callable[[Item], str]] = {
    TableGrouping.RULE: lambda item: item.lead.rule,
    TableGrouping.FILE: lambda item: item.lead.spot.path,
    TableGrouping.SEVERITY: lambda item: item.severity.value,
}
_NAMELESS = {TableGrouping.RULE: "without a rule", TableGrouping.FILE: "no file"}


class TableRow(ItemHead, frozen=True, kw_only=True):
    rule: str
    where: str
    proof: str
    """The strongest kind that it has, or ''."""
    why: str
    """Why it is not fixed, or ''; a claim waits for its judges."""
    asked: bool
    flagged: bool
    can_dismiss: bool


class TableGroup(Struct, frozen=True, kw_only=True):
    """`rows` are the first ones; `total`, `unresolved` and `dismissable` count all."""

    key: str
    title: str
    worst: Severity
    total: int
    unresolved: int
    dismissable: int
    rows: tuple[TableRow, ...]
    opened: bool


class ItemTable(Struct, frozen=True, kw_only=True):
    by: TableGrouping
    groups: tuple[TableGroup, ...]
    found: int
    total: int
    """Items of the run, also those that were not asked for."""
    page: int
    pages: int
    """Pages of groups; of rows if one group is asked for."""
    first: int = 1
    """Position of the first row, if one group is asked for."""


def can_dismiss(item: Item) -> bool:
    """Return whether a user may say that it needs no work: it is neither fixed nor claimed."""
    return item.status not in _NOT_DISMISSED


def group_key(item: Item, by: TableGrouping) -> str:
    return _KEYS[by](item)


def build_table(run: Run, items: Iterable[Item], by: TableGrouping, page: int = 1) -> ItemTable:
    """Return one page of groups, each with its first rows."""
    grouped = _group_items(items, by)
    order = sorted(grouped, key=lambda key: _group_order(key, grouped[key]))
    page, pages = fit_page(page, len(order), _GROUPS)
    shown = order[(page - 1) * _GROUPS : page * _GROUPS]
    return ItemTable(
        by=by,
        groups=tuple(_build_groups(_Context.of(run, by), {key: grouped[key] for key in shown})),
        found=sum(map(len, grouped.values())),
        total=len(run.items),
        page=page,
        pages=pages,
    )


def build_one_group(
    run: Run, items: Iterable[Item], by: TableGrouping, key: str, page: int = 1
) -> ItemTable:
    """Return one page of the rows of the group with this key; the table is empty if none has it."""
    mine = _group_items(items, by).get(key, [])
    page, pages = fit_page(page, len(mine), ROWS)
    first = (page - 1) * ROWS
    shown = sorted(mine, key=_row_order)[first : first + ROWS]
    context = _Context.of(run, by)
    return ItemTable(
        by=by,
        groups=(_build_group(context, key, mine, shown, opened=True),) if mine else (),
        found=len(mine),
        total=len(run.items),
        page=page,
        pages=pages,
        first=first + 1,
    )


class _Context(Struct, frozen=True):
    by: TableGrouping
    asked: frozenset[int]

    @classmethod
    def of(cls, run: Run, by: TableGrouping) -> Self:
        return cls(by, frozenset(doubt.item for doubt in run.unanswered))


def _group_items(items: Iterable[Item], by: TableGrouping) -> dict[str, list[Item]]:
    grouped: dict[str, list[Item]] = {}
    for item in items:
        grouped.setdefault(group_key(item, by), []).append(item)
    return grouped


def _build_groups(context: _Context, grouped: dict[str, list[Item]]) -> Iterator[TableGroup]:
    """Yield the groups with their first rows, until there are enough rows for one page."""
    rows = 0
    for key, items in grouped.items():
        count = min(_FIRST_ROWS, len(items), max(0, _MOST_ROWS - rows))
        opened = count > 0 and rows + count <= _OPENED
        shown = nsmallest(count, items, key=_row_order)
        yield _build_group(context, key, items, shown, opened=opened)
        rows += count


def _build_group(
    context: _Context, key: str, items: Sequence[Item], shown: Sequence[Item], *, opened: bool
) -> TableGroup:
    return TableGroup(
        key=key,
        title=key or _NAMELESS.get(context.by, ""),
        worst=_find_worst(items),
        total=len(items),
        unresolved=sum(map(_is_unresolved, items)),
        dismissable=sum(map(can_dismiss, items)),
        rows=tuple(_build_row(item, context) for item in shown),
        opened=opened,
    )


def _build_row(item: Item, context: _Context) -> TableRow:
    best = strongest_proof(item.proofs)
    return TableRow.of(
        item,
        rule=item.lead.rule,
        where=format_place(item.lead),
        proof=best.kind.value if best else "",
        why="" if item.status is Status.CLAIMED else unfixed_reason(item),
        asked=item.number in context.asked,
        flagged=bool(item.flags),
        can_dismiss=can_dismiss(item),
    )


def _is_unresolved(item: Item) -> bool:
    return item.status not in ENDED


def _find_worst(items: Sequence[Item]) -> Severity:
    """Return the worst severity of what is unresolved, or of all if nothing is."""
    left = [item for item in items if _is_unresolved(item)]
    return worst_severity([item.severity for item in left or items])


def _row_order(item: Item) -> tuple[bool, tuple[int, str, int, int]]:
    return (not _is_unresolved(item), reading_order(item))


def _group_order(key: str, items: Sequence[Item]) -> tuple[bool, int, int, str]:
    left = sum(map(_is_unresolved, items))
    return (not left, _find_worst(items).rank, -(left or len(items)), key)
