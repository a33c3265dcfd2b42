"""What children of the run were held by, and what they tried to reach."""

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.ledger import events as ev


class Children(Struct, frozen=True, kw_only=True):
    tries: tuple[ev.ConnectionRefused, ...] = ()
    refused: int = 0
    """All refused tries, also those that were like an earlier one."""
    reached: dict[str, ev.HostBytes] = {}
    """By host: the traffic of all children."""


def add_child(known: Children, event: ev.ChildEvent) -> Children:
    """Return the record with one more event."""
    if isinstance(event, ev.ConnectionRefused):
        return replace(known, tries=(*known.tries, event))
    reached = dict(known.reached)
    for host, more in event.reached.items():
        before = reached.get(host, ev.HostBytes(0))
        reached[host] = ev.HostBytes(
            before.connections + more.connections,
            before.sent + more.sent,
            before.received + more.received,
        )
    return replace(known, reached=reached, refused=known.refused + event.refused)
