"""The ports to the ledger."""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import AnyEvent, Entry
from punchlist.model.ledger.run_row import RunRow


class LedgerSnapshot(Struct, frozen=True):
    """`head`: the hash of the last entry as noted when that was written; None if the ledger is of a
    version that noted none. `faults`: columns that say something else than the lines.
    """

    lines: tuple[bytes, ...]
    head: str | None
    faults: tuple[str, ...] = ()


class Store(Protocol):
    """The ledger: append-only, with one entry for each (run, place, key)."""

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Write the event durably; if the action has an entry already, only return that."""
        ...

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """Return the entries of a run in order."""
        ...

    def runs(self, repository: str = "", identity: str | None = None) -> Sequence[RunRow]:
        """Return the runs of one repository (by its path here, and what it is called everywhere),
        or of all, newest first.
        """
        ...


class Ledgers(Store, Protocol):
    """The ledger with all that is asked about many runs, and a cache of measurements."""

    def read_kind(self, kind: str, repository: str, identity: str | None = None) -> Iterator[Entry]:
        """Return the entries of one kind in all runs of a repository, oldest run first."""
        ...

    def export(self, run: str) -> Iterator[bytes]:
        """Return the entries as JSON lines, exactly as hashed and written."""
        ...

    def import_lines(self, run: str, lines: Sequence[bytes]) -> None:
        """Write lines of another store, all or none; they follow those that are here."""
        ...

    def take_snapshot(self, run: str) -> LedgerSnapshot:
        """Return the run's lines with what the tables say beside them, all of one moment."""
        ...

    def find_run(self, part: str, repository: str = "", identity: str | None = None) -> str:
        """Return the run whose id this names, or the newest for "last", of this very clone if it
        has one; raise UsageError.
        """
        ...

    def sum_usage(self, since: float, runs: Collection[str] | None = None) -> Usage:
        """Return the dollars, and the calls of unknown cost, of all entries since that time, or of
        those of some runs.
        """
        ...

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes) -> None:
        """Cache a measurement; the first value of a key stays."""
        ...

    def forget(self, prefix: str, text: str = "") -> int:
        """Delete the cached values whose keys begin with the prefix, and that have this text in
        them; return how many there were.
        """
        ...

    def close(self) -> None: ...
