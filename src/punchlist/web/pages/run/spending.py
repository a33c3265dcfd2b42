"""What each kind of action has cost so far: a fold of its own beside the run's, kept for the runs
looked at last.
"""

from collections import OrderedDict

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.timeline import moment
from punchlist.ports.store import Store

_RUNS = 16


class Spent(Struct, frozen=True):
    """All actions of one verb by one agent, or by nobody in particular."""

    verb: str
    agent: str
    times: int
    usage: Usage


class _Sheet(Struct, frozen=True):
    seq: int = 0
    lines: dict[tuple[str, str], Spent] = {}


class Spending:
    """Only what is new in a ledger is read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, _Sheet] = OrderedDict()

    def of(self, run: str) -> tuple[Spent, ...]:
        sheet = self._known.pop(run, None) or _Sheet()
        for entry in self._store.read(run, sheet.seq):
            sheet = _Sheet(entry.seq, with_one(sheet.lines, entry))
        self._known[run] = sheet
        if len(self._known) > _RUNS:
            self._known.popitem(last=False)
        return tuple(sheet.lines.values())


def with_one(lines: dict[tuple[str, str], Spent], entry: ev.Entry) -> dict[tuple[str, str], Spent]:
    """The sheet with one more action, if that cost anything."""
    usage = entry.event.usage
    if usage == Usage():
        return lines
    told = moment(entry, 0, 0)
    key = (told.verb if told else "else", getattr(entry.event, "agent", ""))
    known = lines.get(key, Spent(*key, 0, Usage()))
    return {**lines, key: Spent(*key, known.times + 1, known.usage + usage)}
