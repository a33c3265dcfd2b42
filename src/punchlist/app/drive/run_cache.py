"""Cache of folded runs: only new entries are folded."""

from collections import OrderedDict

from punchlist.model.ledger.events import Started
from punchlist.model.ledger.fold import begin, fold
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import Store

_RUNS = 8


class RunCache:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, Run] = OrderedDict()
        self._outcomes: dict[str, tuple[int, str]] = {}

    def load_run(self, run: str) -> Run:
        known = self._known.pop(run, None)
        entries = self._store.read(run, known.seq if known else 0)
        now = known or begin(run, entries)
        for entry in entries:
            now = fold(now, entry)
        self._known[run] = now
        if len(self._known) > _RUNS:
            self._known.popitem(last=False)
        return now

    def find_outcome(self, row: RunRow) -> str:
        """Return the outcome of an ended run; fold it only if users added something since."""
        if not row.amended:
            return row.outcome
        entries, known = self._outcomes.get(row.id, (0, ""))
        if entries != row.entries:
            known = run_outcome(self.load_run(row.id)).value
            self._outcomes[row.id] = (row.entries, known)
        return known


def read_start(store: Store, run: str) -> Started | None:
    """Return the first event of a run, without reading the rest of its ledger."""
    first = next(iter(store.read(run)), None)
    return first.event if first is not None and isinstance(first.event, Started) else None
