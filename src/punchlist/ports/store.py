"""The port to the ledger."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from punchlist.model.ledger.events import AnyEvent, Entry
from punchlist.model.ledger.run_row import RunRow


class Store(Protocol):
    """The ledger: append-only, with one entry for each (run, place, key)."""

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Write the event durably; if the action has an entry already, only return that."""
        ...

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """Return the entries of a run in order."""
        ...

    def runs(self, repository: str = "") -> Sequence[RunRow]:
        """Return the runs of one repository, or of all, newest first."""
        ...
