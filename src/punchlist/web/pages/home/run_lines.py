"""Cache of what the list shows of each run, with a time limit per request."""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import Store
from punchlist.views.run_state import RunResult, find_result
from punchlist.views.words import describe_scope
from punchlist.web.pages.run.views import StatusShare, compute_shares, outcome_word

_KEPT = 2000
_PATIENCE = 0.4


class Glance(Struct, frozen=True, kw_only=True):
    outcome: str
    result: RunResult | None
    scope: str
    round: int
    items: int
    shares: tuple[StatusShare, ...]
    usage: Usage


class GlanceCache:
    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, Glance]] = OrderedDict()

    def load_glances(self, rows: Iterable[RunRow]) -> dict[str, Glance]:
        """Return those that are cached or can be folded within 0.4 s; the page asks again for the
        others.
        """
        until = self._clock() + _PATIENCE
        found = {
            row.id: glance for row in rows if (glance := self._load_glance(row, until)) is not None
        }
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def _load_glance(self, row: RunRow, until: float) -> Glance | None:
        entries, glance = self._known.get(row.id, (0, None))
        if entries == row.entries or self._clock() > until:
            return glance
        fresh = build_glance(fold_entries(row.id, self._store.read(row.id)))
        self._known[row.id] = (row.entries, fresh)
        return fresh


def build_glance(run: Run) -> Glance:
    tally = count_statuses(run.items)
    return Glance(
        outcome=outcome_word(run),
        result=find_result(run),
        scope=describe_scope(run.started.change),
        round=run.position.round,
        items=sum(tally.values()),
        shares=compute_shares(tally),
        usage=run.usage,
    )
