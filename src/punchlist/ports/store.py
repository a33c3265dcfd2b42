"""The port to the ledger."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from punchlist.model.ledger.events import AnyEvent, Entry
from punchlist.model.ledger.run_row import RunRow


class Store(Protocol):
    """The ledger: what is appended is there for good, and each (run, place, key) is there once."""

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Durable when it returns; if the action is recorded already, that entry is returned and
        nothing is written.
        """
        ...

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a run, in order."""
        ...

    def runs(self, repository: str = "") -> Sequence[RunRow]:
        """Newest first; of one repository, or of all."""
        ...
