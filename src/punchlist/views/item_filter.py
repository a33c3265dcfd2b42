"""Which items somebody wants to see."""

from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status
from punchlist.views.plan_forms import code


class Wanted(Struct, frozen=True, kw_only=True):
    """Which items: empty means all."""

    status: tuple[Status, ...] = ()
    severity: tuple[Severity, ...] = ()
    path: str = ""
    text: str = ""
    in_scope: bool | None = None


def fits(item: Item, wanted: Wanted) -> bool:
    return (
        (not wanted.status or item.status in wanted.status)
        and (not wanted.severity or item.severity in wanted.severity)
        and item.lead.spot.path.startswith(wanted.path)
        and (wanted.in_scope is None or item.in_scope == wanted.in_scope)
        and (not wanted.text or wanted.text.casefold() in _words(item).casefold())
    )


def _words(item: Item) -> str:
    return f"{item.lead.title}\n{item.lead.spot.path}\n{code(item.number)}"
