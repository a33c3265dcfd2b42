"""How the items of a run are shown, as a board or as a table in groups: what the address says."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import quote

from litestar.datastructures import FormMultiDict
from msgspec import Struct

from punchlist.model.item.item import Item
from punchlist.model.ledger.run import Run
from punchlist.views.tables.item_table import (
    ItemTable,
    TableGroup,
    TableGrouping,
    build_one_group,
    build_table,
    can_dismiss,
    group_key,
)
from punchlist.web.pages.run.board import Filters, select_items
from punchlist.web.pages.words import link, parse_page
from punchlist.web.problem import Refused

COOKIE = "punchlist-items"
"""Name of the cookie that remembers how a user wants to see items."""
_UNUSUAL = "-"
C = TypeVar("C", bound=StrEnum)


class ItemLayout(StrEnum):
    BOARD = "board"
    TABLE = "table"


class Layout(Struct, frozen=True, kw_only=True):
    """`only`: key of the one group that is shown, or None; `page`: of groups, or of its rows."""

    view: ItemLayout
    by: TableGrouping = TableGrouping.RULE
    only: str | None = None
    page: int = 1

    @property
    def query(self) -> dict[str, Any]:
        """What an address says of it."""
        if self.view is ItemLayout.BOARD:
            return {"view": self.view.value}
        return {
            "view": self.view.value,
            "by": self.by.value,
            "in": None if self.only is None else _encode_key(self.only),
            "p": self.page if self.page > 1 else None,
        }


class GroupView(Struct, frozen=True, kw_only=True):
    """A group with the address that shows it alone, and the value of the box that ticks it."""

    group: TableGroup
    alone: str
    ticket: str


class TableView(Struct, frozen=True, kw_only=True):
    table: ItemTable
    groups: tuple[GroupView, ...]
    groupings: tuple[tuple[TableGrouping, str], ...]
    """Each grouping, with the address that chooses it."""
    all_groups: str
    """Address of the table with all groups, if it shows only one."""
    earlier: str
    later: str
    filters: Filters


def parse_layout(query: Mapping[str, str], remembered: str, *, ended: bool) -> Layout:
    """Return what the address asks for, else what the cookie remembers; else a run that has ended
    is shown as a table. What is not understood is ignored.
    """
    kept_view, _, kept_by = remembered.partition(".")
    usual = ItemLayout.TABLE if ended else ItemLayout.BOARD
    view = _first_of(ItemLayout, query.get("view"), kept_view) or usual
    by = _first_of(TableGrouping, query.get("by"), kept_by) or TableGrouping.RULE
    only = _decode_key(query["in"]) if query.get("in") else None
    return Layout(view=view, by=by, only=only, page=parse_page(query.get("p", "")))


def remember_layout(layout: Layout) -> str:
    """Return the cookie's value."""
    return f"{layout.view}.{layout.by}"


def build_table_view(
    run: Run, filters: Filters, layout: Layout, query: dict[str, Any]
) -> TableView:
    """`query` is all that the address says, so that links keep it."""
    items = select_items(run, filters)
    if layout.only is None:
        table = build_table(run, items, layout.by, layout.page)
    else:
        table = build_one_group(run, items, layout.by, layout.only, layout.page)
    everything = {**query, "in": None, "p": None}

    def page_link(page: int) -> str:
        return link("", **{**query, "p": page if page > 1 else None}) if page else ""

    return TableView(
        table=table,
        groups=tuple(_view_group(group, everything) for group in table.groups),
        groupings=tuple((by, link("", **everything | {"by": by.value})) for by in TableGrouping),
        all_groups="" if layout.only is None else link("", **everything),
        earlier=page_link(table.page - 1),
        later=page_link(table.page + 1 if table.page < table.pages else 0),
        filters=filters,
    )


def select_ticked(
    run: Run, form: FormMultiDict, filters: Filters, by: TableGrouping
) -> tuple[int, ...]:
    """Return the numbers of the ticked items, and of all items in ticked groups that can be
    dismissed. Refuse with 409 if a group has not as many any more as the user saw.
    """
    numbers = dict.fromkeys(
        int(text) for text in _texts(form, "item") if text.isascii() and text.isdecimal()
    )
    tickets = [text.partition(":") for text in _texts(form, "group")]
    if tickets:
        mine = [item for item in select_items(run, filters) if can_dismiss(item)]
        for count, _, key in tickets:
            found = [item.number for item in mine if _quote_key(item, by) == key]
            if str(len(found)) != count:
                raise Refused(
                    409, "a group has changed since you looked at it", "go back, and look again"
                )
            numbers |= dict.fromkeys(found)
    if not numbers:
        raise Refused(400, "no item is ticked", "go back, and tick what needs no work")
    return tuple(numbers)


def _quote_key(item: Item, by: TableGrouping) -> str:
    return quote(group_key(item, by), errors="replace")


def _texts(form: FormMultiDict, name: str) -> Iterator[str]:
    return (value for value in form.getall(name, []) if isinstance(value, str))


def _view_group(group: TableGroup, query: dict[str, Any]) -> GroupView:
    return GroupView(
        group=group,
        alone=link("", **query | {"in": _encode_key(group.key)}),
        ticket=f"{group.dismissable}:{quote(group.key, errors='replace')}",
    )


def _encode_key(key: str) -> str:
    """Return the key for an address, where an empty value would be left out."""
    return f"{_UNUSUAL}{key}" if not key or key.startswith(_UNUSUAL) else key


def _decode_key(text: str) -> str:
    return text.removeprefix(_UNUSUAL)


def _first_of(kinds: type[C], *names: str | None) -> C | None:
    """Return the first name that is one of the kinds."""
    known = {kind.value: kind for kind in kinds}
    return next((known[name] for name in names if name in known), None)
