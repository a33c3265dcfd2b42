"""The ports to the fleet's queue: runs that wait for a worker, and the workers that take them."""

from collections.abc import Sequence
from enum import IntEnum, StrEnum
from typing import Protocol

from msgspec import Struct

from punchlist.model.ledger.events import Entry, Started


class Priority(IntEnum):
    """What is taken first: the least number, then the oldest."""

    INTERRUPTED = 1
    PULL_REQUEST = 2
    RUN = 3
    NIGHTLY = 4

    @property
    def word(self) -> str:
        """As `--priority` spells it."""
        return self.name.lower().replace("_", "-")


class JobState(StrEnum):
    """STUCK: as many workers died of it as may; it is shown, and not tried again."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPED = "stopped"
    SUPERSEDED = "superseded"
    STUCK = "stuck"
    ENDED = "ended"


class Job(Struct, frozen=True, kw_only=True):
    """A run in the queue. `repository` and `branch`: whose runs go one at a time; `source`: where
    its commits are fetched; `label`: which workers may take it, '' for all.
    """

    run: str
    repository: str
    branch: str = ""
    source: str = ""
    label: str = ""
    agents: tuple[str, ...] = ()
    subject: str = ""
    """Of what is queued and not begun with the same subject, only the newest stays; '' is none."""
    priority: Priority = Priority.RUN
    state: JobState = JobState.QUEUED
    worker: str = ""
    """The worker that has it, or had it last."""
    deaths: int = 0
    """How many workers died of it, or failed without an event."""
    note: str = ""
    """Why it is in this state, if that is not clear."""
    waited: float = 0
    """Seconds since it was queued, by the database's clock."""


class Enqueued(Struct, frozen=True):
    entry: Entry
    superseded: tuple[str, ...]


class Reaped(Struct, frozen=True):
    """Runs taken back from dead workers."""

    queued: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()


class Room(Struct, frozen=True):
    """How many runs may be under way at once, for one repository and for one agent; 0: any."""

    repository: int = 0
    agent: int = 0


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """A worker. `idle_for`: seconds since its last sign of life, by the database's clock."""

    id: str
    machine: str
    pid: int
    labels: tuple[str, ...] = ()
    width: int = 1
    version: str = ""
    draining: bool = False
    idle_for: float = 0
    alive: bool = True
    units: int = 0
    """How many single actions it does for runs of other workers."""


class RunQueue(Protocol):
    def enqueue(self, job: Job, started: Started, at: float) -> Enqueued:
        """Write the run's first events and its place in the queue, both or none. What is queued
        with the same subject and was not begun is superseded.
        """
        ...

    def requeue(self, run: str, priority: Priority) -> bool:
        """Queue a run again that waits, was stopped or is stuck; return whether it could be."""
        ...

    def cancel(self, run: str, by: str, at: float) -> bool:
        """Take a run out of the queue; return whether it was queued."""
        ...

    def find(self, run: str) -> Job | None: ...

    def list_jobs(self, *states: JobState) -> Sequence[Job]:
        """Return the runs in these states, in the order in which they are taken."""
        ...

    def take(
        self, worker: str, labels: Sequence[str], room: Room, known: Sequence[str] | None = None
    ) -> Job | None:
        """Give the next run to a worker, or None: one at a time of a branch, as there is room.
        With `known`, a run that the worker has and does not know comes first.
        """
        ...

    def finish(self, run: str, worker: str, state: JobState, note: str = "") -> bool:
        """Note what became of a run; return whether it was still this worker's."""
        ...

    def give_back(
        self, run: str, worker: str, note: str = "", *, died: bool = False, delay: float = 0
    ) -> bool:
        """Queue a worker's run again, before others; return whether it was still this worker's.
        `died`: it broke off without an event, and is stuck after ten times.
        """
        ...

    def reap(self) -> Reaped:
        """Take back the runs of workers that gave no sign of life for the length of a lease."""
        ...


class Workers(Protocol):
    def register(self, info: WorkerInfo) -> None:
        """Add the worker, and give signs of life for it until it is removed."""
        ...

    def set_draining(self, worker: str) -> None: ...

    def remove(self, worker: str) -> None: ...

    def list_all(self) -> Sequence[WorkerInfo]: ...
