"""What every list of items has: the fields of an item, and conditions that select items."""

from typing import Any, Self

from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.run import Run
from punchlist.views.plans.plan_forms import item_code


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
