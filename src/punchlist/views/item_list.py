"""What every list of items has: the fields of an item, and conditions that select items."""

from typing import Any, Self

from msgspec import Struct

from punchlist.errors import UsageError
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.plans.plan_forms import item_code

_SHORTEST = 4
"""Characters of a fingerprint that name an item; fewer are a number."""
_FEW = 8


class ItemHead(Struct, frozen=True, kw_only=True):
    number: int
    code: str
    title: str
    severity: Severity
    status: Status
    in_scope: bool
    path: str
    line: int | None

    @classmethod
    def of(cls, item: Item, **more: Any) -> Self:
        """Return the item in this shape; `more` are the fields that a subclass adds."""
        return cls(
            number=item.number,
            code=item_code(item.number),
            title=item.lead.title,
            severity=item.severity,
            status=item.status,
            in_scope=item.in_scope,
            path=item.lead.spot.path,
            line=item.lead.spot.line,
            **more,
        )


class ItemFilter(Struct, frozen=True, kw_only=True):
    """Conditions; an empty one fits all items."""

    status: tuple[Status, ...] = ()
    severity: tuple[Severity, ...] = ()
    path: str = ""
    text: str = ""
    in_scope: bool | None = None


def filter_items(run: Run, wanted: ItemFilter) -> list[Item]:
    """Return the items that fit, worst first."""
    fitting = (item for item in run.items.values() if matches_filter(item, wanted))
    return sorted(fitting, key=reading_order)


def matches_filter(item: Item, wanted: ItemFilter) -> bool:
    return (
        (not wanted.status or item.status in wanted.status)
        and (not wanted.severity or item.severity in wanted.severity)
        and item.lead.spot.path.startswith(wanted.path)
        and (wanted.in_scope is None or item.in_scope == wanted.in_scope)
        and (not wanted.text or wanted.text.casefold() in _search_text(item).casefold())
    )


def _search_text(item: Item) -> str:
    return f"{item.lead.title}\n{item.lead.spot.path}\n{item_code(item.number)}"


def find_item(run: Run, named: str) -> int:
    """Return the number of the item that a user means: by its number (7, #7), its code (F007, or
    the client's own), or any unique part of its fingerprint. Raise UsageError if there is none, or
    several.
    """
    text = named.strip().removeprefix(f"{run.id}/").lower()
    number = text.removeprefix("#").removeprefix("f").lstrip("0")
    if number.isdecimal() and number.isascii() and int(number) in run.items:
        return int(number)
    own = [each for each in run.items if run.items[each].lead.issue_code.lower() == text]
    parts = [each for each in run.items if text in run.items[each].fingerprint.lower()]
    found = own or (parts if len(text) >= _SHORTEST else [])
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{each} ({run.items[each].fingerprint[:12]})" for each in found[:_FEW])
        more = ", ..." if len(found) > _FEW else ""
        problem = f'{len(found)} items of run {run.id} have "{named}" in their id: {listed}{more}'
        raise UsageError(problem, hint="give more of it, or the number")
    last = max(run.items, default=0)
    there = f"its items are 1 to {last}: punchlist show {run.id}" if last else "it has none"
    raise UsageError(f"run {run.id} has no item {named}", hint=there)
