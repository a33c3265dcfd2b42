"""The board: a run's items by status, filtered."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace
from textual.content import Content

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.tui.text import (
    MUTED,
    SEVERITIES,
    STATUSES,
    fit_text,
    format_headline,
    format_place,
    line,
)
from punchlist.views.item_list import ItemFilter, matches_filter
from punchlist.views.item_words import NO_FIX, format_proofs, unfixed_reason

_NUMBER = 6
_SEVERITY = 9
_STATUS = 10
_NARROW = 60
"""Columns below which the place is left out: the title matters more."""


class Shelf(Struct, frozen=True):
    """Items in scope of one status or of all; or the items outside the change."""

    name: str
    status: Status | None = None
    outside: bool = False

    def narrow_filter(self, also: ItemFilter) -> ItemFilter:
        return replace(
            also, status=(self.status,) if self.status else (), in_scope=not self.outside
        )


ALL = Shelf("all")
OUTSIDE = Shelf("outside", outside=True)
SHELVES = (ALL, *(Shelf(status.value, status) for status in Status), OUTSIDE)
SEVERITY_CHOICES: tuple[tuple[Severity, ...], ...] = ((), *((severity,) for severity in Severity))


class ItemBoard:
    """The items of a run in reading order; sorted again only if findings changed."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[tuple[object, ...], tuple[int, str, int, int]]] = {}
        self._ordered: list[int] = []

    def order_items(self, run: Run) -> list[int]:
        keys = self._keys
        fresh = {
            number: (item.findings, reading_order(item))
            for number, item in run.items.items()
            if number not in keys or keys[number][0] is not item.findings
        }
        if fresh:
            keys |= fresh
            self._ordered = sorted(keys, key=lambda number: keys[number][1])
        return self._ordered

    def select_items(self, run: Run, shelf: Shelf, wanted: ItemFilter) -> list[int]:
        wanted = shelf.narrow_filter(wanted)
        items = run.items
        return [number for number in self.order_items(run) if matches_filter(items[number], wanted)]


def count_shelves(run: Run) -> dict[str, int]:
    by_status = count_statuses(run.items)
    inside = sum(by_status.values())
    named = {status.value: count for status, count in by_status.items()}
    return {ALL.name: inside, **named, OUTSIDE.name: len(run.items) - inside}


def shelf_bar(known: dict[str, int], chosen: Shelf, width: int) -> Content:
    """Return the shelves' names and counts in one line; empty ones are shown if they fit."""
    there = _list_shelves(known, chosen)
    most = [each for each in SHELVES if each != OUTSIDE or each in there]
    bars = (
        line(*_render_heads(known, chosen, most)),
        line(*_render_heads(known, chosen, there)),
        line(*_render_heads(known, chosen, there, "")),
    )
    return next((bar for bar in bars if bar.cell_length <= width), bars[-1])


def _render_heads(
    known: dict[str, int], chosen: Shelf, shelves: Sequence[Shelf], pad: str = " "
) -> Iterator[tuple[str, str]]:
    for shelf in shelves:
        count = known.get(shelf.name, 0)
        text = f"{shelf.name} {count:,}"
        if shelf == chosen:
            yield f"[{text}]", "bold reverse"
        else:
            style = STATUSES[shelf.status] if shelf.status and count else "" if count else MUTED
            yield f"{pad}{text}{pad}", style
        yield "" if pad else " ", ""


def item_row(item: Item, width: int, *, status: bool) -> Content:
    place = min(34, width // 4) if width >= _NARROW else 0
    parts: list[tuple[str, str]] = [
        (f"{item.number:>{_NUMBER - 1}} ", "bold"),
        (f"{item.severity:<{_SEVERITY}}", SEVERITIES[item.severity]),
    ]
    if status:
        parts.append((f"{item.status:<{_STATUS}}", STATUSES[item.status]))
    if place:
        parts.append((f"{fit_text(format_place(item.lead), place, tail=True)} ", MUTED))
    parts.append((format_headline(item.lead), ""))
    why = format_proofs(item) if item.status is Status.FIXED else unfixed_reason(item)
    if why and why != NO_FIX:
        parts.append((f"  ({why})", MUTED))
    return line(*parts)


def next_shelf(shelf: Shelf, by: int, known: dict[str, int]) -> Shelf:
    """Return the next shelf in that direction that has items."""
    full = _list_shelves(known, shelf)
    return full[(full.index(shelf) + by) % len(full)]


def _list_shelves(known: dict[str, int], chosen: Shelf) -> list[Shelf]:
    """Return the shelves that have items, with ALL and the chosen one."""
    return [each for each in SHELVES if each in (ALL, chosen) or known.get(each.name)]
