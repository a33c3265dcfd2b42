"""What a worker has of its own: a folder below the home, and a session in its clone."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.fleet.mirrors import Mirrors
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.postgres.state import PostgresState
from punchlist.adapters.store.lease import FileLease
from punchlist.app.fleet.floor import lay_floor
from punchlist.app.session import Session, StartLimits
from punchlist.errors import AlreadyRunning, UsageError
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.ports.artifacts import ArtifactStore
from punchlist.ports.state import SharedState

_SLOTS = 1000
"""How many workers one home has room for."""


class WorkerSession(Session):
    """A session in the worker's own clone, about the repository that the run names."""

    def __init__(
        self,
        home: Path,
        checkout: Checkout,
        key: RepositoryKey,
        *,
        shared: SharedState,
        artifacts: ArtifactStore,
    ) -> None:
        super().__init__(home, checkout, {})
        self._key = key
        self.state = shared
        self.artifact_store = artifacts

    @property
    def repository(self) -> str:
        return self._key.path

    @property
    def key(self) -> RepositoryKey:
        return self._key

    async def limit_start(self, started: Started) -> StartLimits:
        """Return how this worker drives a run of another user: its own settings are a floor."""
        return await lay_floor(self, started)

    def close(self) -> None:
        """Leave the state open: all runs of the worker share it."""


class Workplace(Struct, frozen=True, kw_only=True):
    """What a worker works with; `home` is its own."""

    worker: str
    state: PostgresState
    artifacts: ArtifactStore
    home: Path
    mirrors: Mirrors
    flags: Mapping[str, str] = {}

    @asynccontextmanager
    async def open_session(self, source: str, started: Started) -> AsyncIterator[WorkerSession]:
        """Lend a session in a clone of the source that has the commits of the run."""
        change = started.change
        async with self.mirrors.open_mirror(source, (change.base, change.head)) as folder:
            session = WorkerSession(
                self.home,
                await Checkout.find(folder),
                RepositoryKey(started.repository, started.identity),
                shared=self.state,
                artifacts=self.artifacts,
            )
            session.source = source
            session.worker = self.worker
            session.flags = dict(self.flags)
            yield session


@contextmanager
def own_home(home: Path) -> Iterator[Path]:
    """Lend a folder below the home that no other worker of this machine has."""
    for number in range(1, _SLOTS):
        folder = home / "workers" / str(number)
        try:
            lease = FileLease.acquire_path(folder / "lock", f"of worker {number}")
        except AlreadyRunning:
            continue
        with lease:
            yield folder
        return
    raise UsageError(f"{home}: {_SLOTS} workers run here already", hint="set PUNCHLIST_HOME")
