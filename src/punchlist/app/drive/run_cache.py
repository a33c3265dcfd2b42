"""Runs as they are now, for those who look at them again and again: no more often folded than they
grow.
"""

from collections import OrderedDict

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow

_RUNS = 8


class Folded:
    """Those looked at last are kept, and only what is new in their ledgers is folded."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._known: OrderedDict[str, Run] = OrderedDict()
        self._outcomes: dict[str, tuple[int, str]] = {}

    def load(self, run: str) -> Run:
        now = self._known.pop(run, None) or Run(id=run)
        for entry in self._store.read(run, now.seq):
            now = fold(now, entry)
        self._known[run] = now
        if len(self._known) > _RUNS:
            self._known.popitem(last=False)
        return now

    def find_outcome(self, row: RunRow) -> str:
        """Return what an ended run comes to now; one that people added something to is folded."""
        if not row.amended:
            return row.outcome
        entries, known = self._outcomes.get(row.id, (0, ""))
        if entries != row.entries:
            known = outcome(self.load(row.id)).value
            self._outcomes[row.id] = (row.entries, known)
        return known
