"""Runs as the list shows them: folded once for as long as they do not grow, and not for longer than
a reader wants to wait.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger.fold import folded
from punchlist.model.ledger.run import Run, counts
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import Store
from punchlist.views.wording import scope
from punchlist.web.pages.run.views import Share, ended_as, shares

_KEPT = 2000
_PATIENCE = 0.4


class Glance(Struct, frozen=True, kw_only=True):
    """What a line of the list needs of a fold."""

    outcome: str
    scope: str
    branch: str
    round: int
    items: int
    shares: tuple[Share, ...]
    usage: Usage


class Glances:
    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, Glance]] = OrderedDict()

    def of(self, rows: Iterable[RunRow]) -> dict[str, Glance]:
        """Those that are known or can be had soon; the list is asked for again, and gets the others
        then.
        """
        until = self._clock() + _PATIENCE
        found = {row.id: glance for row in rows if (glance := self._one(row, until)) is not None}
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found

    def _one(self, row: RunRow, until: float) -> Glance | None:
        entries, glance = self._known.get(row.id, (0, None))
        if entries == row.entries or self._clock() > until:
            return glance
        fresh = glance_of(folded(row.id, self._store.read(row.id)))
        self._known[row.id] = (row.entries, fresh)
        return fresh


def glance_of(run: Run) -> Glance:
    tally = counts(run.items)
    return Glance(
        outcome=ended_as(run),
        scope=scope(run.started.change),
        branch=run.landing.branch,
        round=run.position.round,
        items=sum(tally.values()),
        shares=shares(tally),
        usage=run.usage,
    )
