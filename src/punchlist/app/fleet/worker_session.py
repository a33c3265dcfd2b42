"""A session in a worker's own clone."""

from pathlib import Path

from punchlist.adapters.git.checkout import Checkout
from punchlist.app.session import Session
from punchlist.ports.state import SharedState


class WorkerSession(Session):
    """A session in the worker's own clone, about the repository that the run names; `source`: where
    the clone is from.
    """

    def __init__(
        self, home: Path, checkout: Checkout, shared: SharedState, repository: str, source: str
    ) -> None:
        super().__init__(home, checkout, {})
        self._repository = repository
        self.state = shared
        self.source = source

    @property
    def repository(self) -> str:
        return self._repository

    def close(self) -> None:
        """Leave the state open: all runs of the worker share it."""
