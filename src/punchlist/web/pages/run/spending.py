"""Cost by verb and agent: a separate fold, cached for the last runs shown."""

from collections import OrderedDict

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.timeline import make_moment
from punchlist.ports.store import Store

_RUNS = 16


class SpendingLine(Struct, frozen=True):
    """All actions of one verb by one agent; `agent` is empty if none was involved."""

    verb: str
    agent: str
    times: int
    usage: Usage


class _Sheet(Struct, frozen=True):
    seq: int = 0
    lines: dict[tuple[str, str], SpendingLine] = {}


class SpendingCache:
    """Reads only what is new in a ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, _Sheet] = OrderedDict()

    def load_lines(self, run: str) -> tuple[SpendingLine, ...]:
        sheet = self._known.pop(run, None) or _Sheet()
        for entry in self._store.read(run, sheet.seq):
            sheet = _Sheet(entry.seq, add_entry(sheet.lines, entry))
        self._known[run] = sheet
        if len(self._known) > _RUNS:
            self._known.popitem(last=False)
        return tuple(sheet.lines.values())


def add_entry(
    lines: dict[tuple[str, str], SpendingLine], entry: ev.Entry
) -> dict[tuple[str, str], SpendingLine]:
    """Return the lines with one more entry, if it cost anything."""
    usage = entry.event.usage
    if usage == Usage():
        return lines
    moment = make_moment(entry, 0, 0)
    key = (moment.verb if moment else "else", getattr(entry.event, "agent", ""))
    known = lines.get(key, SpendingLine(*key, 0, Usage()))
    return {**lines, key: SpendingLine(*key, known.times + 1, known.usage + usage)}
