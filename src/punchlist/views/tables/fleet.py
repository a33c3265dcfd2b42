"""What all processes that share a store do, as surfaces show it."""

from msgspec import Struct

from punchlist.views.run_state import State

NO_FLEET = (
    "no workers and no queue: the ledger is in SQLite, on this machine;"
    " `punchlist worker` needs a store in PostgreSQL"
)


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
    given_up: bool = False
    """Workers tried it too often, and do not take it again by themselves."""


class FleetDriver(Struct, frozen=True, kw_only=True):
    """A process that drives runs."""

    machine: str
    pid: int
    runs: tuple[str, ...]


class FleetWorker(Struct, frozen=True, kw_only=True):
    """A `punchlist worker`. `alive`: its last sign of life is not older than a lease."""

    id: str
    machine: str
    pid: int
    labels: tuple[str, ...] = ()
    width: int
    """How many runs it drives at once."""
    runs: int = 0
    """How many it has at hand; a single action of another worker's run counts as one."""
    seen: float = 0
    """Seconds since its last sign of life, by the database's clock."""
    alive: bool = True
    draining: bool = False
    """It takes no more runs."""
    version: str = ""

    @property
    def state(self) -> str:
        if not self.alive:
            return "dead"
        return "draining" if self.draining else "working"


class FleetQueue(Struct, frozen=True, kw_only=True):
    """The runs that wait for a worker with one priority and one label ('': any worker)."""

    priority: str
    label: str = ""
    waiting: int
    oldest: float
    """Seconds since the one that waits longest was queued."""
    served: bool = True
    """Whether a worker is at work that takes such runs."""


class Fleet(Struct, frozen=True, kw_only=True):
    """`stuck` are runs that neither ended nor were stopped, and that no process drives; and those
    that workers do not try any more.
    """

    drivers: tuple[FleetDriver, ...] = ()
    running: tuple[FleetRun, ...] = ()
    waiting: tuple[FleetRun, ...] = ()
    stopped: tuple[FleetRun, ...] = ()
    stuck: tuple[FleetRun, ...] = ()
    workers: tuple[FleetWorker, ...] | None = None
    """None where the store has neither workers nor a queue: in SQLite, on one machine."""
    queues: tuple[FleetQueue, ...] | None = None
    """In the order in which they are taken; runs in them are in no other list."""
    begun_today: int = 0
    ended_today: int = 0
    dollars_today: float = 0
    unpriced_today: int = 0
    """Calls of agents today whose cost is unknown."""
    daily_limit: float = 0
    """`limits.daily`: dollars; 0 for none."""

    @property
    def queued(self) -> int:
        """How many runs wait for a worker."""
        return sum(each.waiting for each in self.queues or ())
