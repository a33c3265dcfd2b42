"""The state of one user on one machine: SQLite, kernel locks and files below the home folder."""

from functools import cached_property
from pathlib import Path

from punchlist.adapters.store.lease import FileLeases
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.store.stop_request import FileStops


class EmbeddedState:
    def __init__(self, home: Path, *, readonly: bool = False) -> None:
        self._home = home
        self._readonly = readonly
        self._runs = home / "runs"
        self.leases = FileLeases(home)
        self.stops = FileStops(self._runs)

    @cached_property
    def store(self) -> SqliteStore:
        """Opened at the first use: the doctor must be able to report that it cannot be."""
        return SqliteStore.open(self._home, readonly=self._readonly)

    @property
    def queue(self) -> None:
        """One machine has no queue."""

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
