"""Read the runs of a repository for its trends; each run is folded once for each of its states."""

from collections import OrderedDict
from contextlib import closing

from punchlist.app.session import Session
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run_row import RepositoryKey, RunRow
from punchlist.ports.store import Ledgers
from punchlist.views.tables.trends import TrendPoint, Trends, build_trends, make_point

RUNS = 50
"""Runs that are looked at if no number is given."""
_KEPT = 5000


class TrendReader:
    """Keeps what it has read: a run is read again only when its ledger has grown."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[int, TrendPoint]] = OrderedDict()

    def load_trends(self, store: Ledgers, repository: RepositoryKey, limit: int = RUNS) -> Trends:
        """Return the trends of the latest `limit` runs; 0 means all."""
        rows = store.runs(repository.path, repository.identity)
        shown = rows[: limit or None]
        points = [self._load_point(store, row) for row in shown]
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return build_trends(points, len(rows) - len(shown))

    def open_trends(self, session: Session, repository: RepositoryKey, limit: int = RUNS) -> Trends:
        """Do the same with a connection of its own, for a thread."""
        with closing(Session(session.home, None, session.flags, readonly=True)) as own:
            return self.load_trends(own.store, repository, limit)

    def _load_point(self, store: Ledgers, row: RunRow) -> TrendPoint:
        entries, point = self._known.pop(row.id, (0, None))
        if point is None or entries != row.entries:
            point = make_point(fold_entries(row.id, store.read(row.id)))
        self._known[row.id] = (row.entries, point)
        return point
