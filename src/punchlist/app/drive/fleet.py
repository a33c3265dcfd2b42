"""What all processes that share a store do at this moment, and what was spent today."""

import socket
from collections.abc import Callable

from punchlist.app.drive.budget import start_of_day
from punchlist.app.session import Session
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.state import LeaseHolder
from punchlist.views.run_state import State, find_state
from punchlist.views.tables.fleet import Fleet, FleetDriver, FleetRun

_LISTS = {
    State.UNDER_WAY: "running",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.KILLED: "stuck",
}


def load_fleet(
    session: Session, now: float, names: Callable[[str], str | None] = lambda name: name
) -> Fleet:
    """Return how all runs of the store stand; those that have ended are only counted. `names` gives
    the name of a repository to show; None leaves its runs out.
    """
    day = start_of_day(now)
    rows = [row for row in session.store.runs() if names(row.repository) is not None]
    lists: dict[str, list[FleetRun]] = {name: [] for name in _LISTS.values()}
    drivers: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        if not row.outcome:
            name = names(row.repository) or ""
            run = _make_run(row, name, session.driver_of(row.id), now)
            lists[_LISTS[run.state]].append(run)
            if run.pid:
                drivers.setdefault((run.machine, run.pid), []).append(run.run)
    spent = session.store.sum_usage(day)
    return Fleet(
        **{name: tuple(runs) for name, runs in lists.items()},
        drivers=tuple(
            FleetDriver(machine=machine, pid=pid, runs=tuple(runs))
            for (machine, pid), runs in sorted(drivers.items())
        ),
        begun_today=sum(row.started_at >= day for row in rows),
        ended_today=sum(row.ended_at >= day for row in rows if row.outcome),
        dollars_today=spent.dollars,
        unpriced_today=spent.unpriced,
        daily_limit=session.settings().settings.limits.daily,
    )


def _make_run(row: RunRow, name: str, holder: LeaseHolder | None, now: float) -> FleetRun:
    return FleetRun(
        run=row.id,
        repository=name,
        state=find_state(row, driven=holder is not None),
        age=max(0.0, now - row.last_at),
        machine=holder.machine or socket.gethostname() if holder else "",
        pid=holder.pid if holder else 0,
        lease=holder.left if holder else 0,
    )
