"""A session in a worker's own clone."""

from pathlib import Path

from punchlist.adapters.git.checkout import Checkout
from punchlist.app.session import Session
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.ports.artifacts import ArtifactStore
from punchlist.ports.state import SharedState


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

    def close(self) -> None:
        """Leave the state open: all runs of the worker share it."""
