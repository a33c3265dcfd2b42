"""What all processes that share a store do at this moment, and what was spent today."""

import socket

from msgspec import Struct

from punchlist.app.drive.budget import start_of_day
from punchlist.app.session import Session
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.state import LeaseHolder
from punchlist.views.run_state import State, find_state


class FleetRun(Struct, frozen=True, kw_only=True):
    """A run that has not ended. `age`: seconds since its last event."""

    run: str
    repository: str
    state: State
    age: float
    machine: str = ""
    """Where it is driven, if it is."""
    pid: int = 0
    lease: float = 0
    """Seconds until its driver must have renewed its lease; 0 if that ends with the process."""


class FleetDriver(Struct, frozen=True, kw_only=True):
    """A process that drives runs."""

    machine: str
    pid: int
    runs: tuple[str, ...]


class Fleet(Struct, frozen=True, kw_only=True):
    """`stuck` are runs that neither ended nor were stopped, and that no process drives."""

    drivers: tuple[FleetDriver, ...] = ()
    running: tuple[FleetRun, ...] = ()
    waiting: tuple[FleetRun, ...] = ()
    stopped: tuple[FleetRun, ...] = ()
    stuck: tuple[FleetRun, ...] = ()
    begun_today: int = 0
    ended_today: int = 0
    dollars_today: float = 0
    unpriced_today: int = 0
    """Calls of agents today whose cost is unknown."""
    daily_limit: float = 0
    """`limits.daily`: dollars; 0 for none."""


_LISTS = {
    State.UNDER_WAY: "running",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.KILLED: "stuck",
}


def load_fleet(session: Session, now: float) -> Fleet:
    """Return how all runs of the store stand; those that have ended are only counted."""
    day, rows = start_of_day(now), session.store.runs()
    lists: dict[str, list[FleetRun]] = {name: [] for name in _LISTS.values()}
    drivers: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        if not row.outcome:
            run = _make_run(row, session.driver_of(row.id), now)
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


def _make_run(row: RunRow, holder: LeaseHolder | None, now: float) -> FleetRun:
    return FleetRun(
        run=row.id,
        repository=row.repository,
        state=find_state(row, driven=holder is not None),
        age=max(0.0, now - row.last_at),
        machine=holder.machine or socket.gethostname() if holder else "",
        pid=holder.pid if holder else 0,
        lease=holder.left if holder else 0,
    )
