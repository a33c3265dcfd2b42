"""The ports to what outlives a process: the ledger, who drives a run, requests to stop."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from msgspec import Struct

from punchlist.ports.fleet.queue import RunQueue, Workers
from punchlist.ports.store import Ledgers

if TYPE_CHECKING:
    from punchlist.ports.fleet.units import Units
    from punchlist.ports.serving.access import Access
    from punchlist.ports.serving.pull_notices import PullNotices
    from punchlist.ports.serving.records import Allowances, RepositoryList, RequestKeys


class LeaseHolder(Struct, frozen=True):
    """The process that has a lease: its number, and its machine if that is another one."""

    pid: int = 0
    run: str = ""
    machine: str = ""
    left: float = 0
    """Seconds until a lease that must be renewed runs out; 0 if it ends with its process."""


class Lease(Protocol):
    """The exclusive right to drive one run; a context manager that gives it back."""

    @property
    def lost(self) -> bool:
        """Whether another process has taken the run over meanwhile."""
        ...

    def confirm(self) -> None:
        """Ask the store, and raise RunTaken if another process has taken the run over."""
        ...

    def release(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None: ...


class Leases(Protocol):
    """At most one process drives a run, and works on one request."""

    def acquire(self, run: str, request: str = "", *, force: bool = False) -> Lease:
        """Take the run and its request. Raise AlreadyRunning, with the run's id, if another process
        has one; with `force` only for the run.
        """
        ...

    def find_holder(self, run: str) -> LeaseHolder | None:
        """Return the process that drives the run, or None."""
        ...

    def find_holders(self, runs: Sequence[str]) -> dict[str, LeaseHolder]:
        """Return the processes that drive these runs, by run; others are left out."""
        ...


class StopRequest(Struct, frozen=True):
    """`by` is the requester."""

    by: str = ""


class Stops(Protocol):
    """Requests to stop a run, which the process that drives it polls."""

    def request(self, run: str, stop: StopRequest) -> None: ...

    def read(self, run: str) -> StopRequest | None: ...

    def clear(self, run: str) -> None: ...


class Watching(Protocol):
    """Notices of new entries, while they come."""

    @property
    def live(self) -> bool:
        """Whether new entries are told at once; where not, look at the ledger from time to time."""
        ...


class SharedState(Protocol):
    """All that the processes of one user, or of one fleet, share."""

    @property
    def store(self) -> Ledgers: ...

    @property
    def leases(self) -> Leases: ...

    @property
    def stops(self) -> Stops: ...

    @property
    def access(self) -> "Access": ...

    @property
    def keys(self) -> "RequestKeys": ...

    @property
    def repositories(self) -> "RepositoryList": ...

    @property
    def allowances(self) -> "Allowances": ...

    @property
    def pulls(self) -> "PullNotices":
        """What forges said of pull requests that are not answered yet."""
        ...

    @property
    def queue(self) -> RunQueue | None:
        """The fleet's queue; None where there is no fleet."""
        ...

    @property
    def workers(self) -> Workers | None:
        """The fleet's workers; None where there is no fleet."""
        ...

    @property
    def units(self) -> "Units | None":
        """Single actions that workers do for each other; None where there is no fleet."""
        ...

    def claim_run(self, run: str) -> bool:
        """Return whether this process may begin a run with that id: of several machines that chose
        the same one, the first.
        """
        ...

    def wait_for(self, seconds: float) -> None:
        """Let operations wait so long for a state that is away; 0: raise StoreAway at once."""
        ...

    def watch(self, changed: Callable[[str], None]) -> Watching:
        """Call `changed` with the id of each run that has a new entry, and with '' when some may
        have been missed; from any thread, until the state is closed.
        """
        ...

    def close(self) -> None: ...
