"""The port to the ledger."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.ledger.events import AnyEvent, Entry


class RunRow(Struct, frozen=True):
    """A run as a list shows it. `last_at` and `last_kind` are of its own last event: not of what
    people added beside it.
    """

    id: str
    repository: str
    started_at: float
    last_at: float
    last_kind: str
    entries: int
    active: float = 0
    """Seconds during which a process was driving it, as the fold counts them."""
    ended_at: float = 0
    outcome: str = ""
    """How it ended; empty if it did not."""
    amended: bool = False
    """People added something after its end: what it comes to now is in the fold."""


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
