"""What all processes that share a store do, as surfaces show it."""

from msgspec import Struct

from punchlist.views.run_state import State


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
