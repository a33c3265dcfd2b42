"""The fields that every list of items has, whichever surface shows it."""

from typing import Any, Self

from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
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
