"""The state of one user on one machine: SQLite, kernel locks and files below the home folder."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from punchlist.adapters.store.lease import FileLeases
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.adapters.store.stop_request import FileStops

if TYPE_CHECKING:
    from punchlist.adapters.store.serving.access import FileAccess
    from punchlist.adapters.store.serving.pull_notices import SqliteNotices
    from punchlist.adapters.store.serving.records import FileAllowances, FileKeys, FileRepositories


class _Unnoticed:
    live = False


class EmbeddedState:
    """`home` has the ledger and the files of its runs; `own`, if it is another folder, what servers
    and users of this machine keep. Only what is used is imported.
    """

    def __init__(self, home: Path, own: Path | None = None, *, readonly: bool = False) -> None:
        self._home = home
        self._own = own or home
        self._readonly = readonly
        self._runs = home / "runs"
        self.leases = FileLeases(home)
        self.stops = FileStops(self._runs)

    @cached_property
    def store(self) -> SqliteStore:
        """Opened at the first use: the doctor must be able to report that it cannot be."""
        return SqliteStore.open(self._home, readonly=self._readonly)

    @cached_property
    def access(self) -> "FileAccess":
        from punchlist.adapters.store.serving.access import FileAccess

        return FileAccess(self._own)

    @cached_property
    def keys(self) -> "FileKeys":
        from punchlist.adapters.store.serving.records import FileKeys

        return FileKeys(self._own)

    @cached_property
    def repositories(self) -> "FileRepositories":
        from punchlist.adapters.store.serving.records import FileRepositories

        return FileRepositories(self._own)

    @cached_property
    def allowances(self) -> "FileAllowances":
        from punchlist.adapters.store.serving.records import FileAllowances

        return FileAllowances(self._own)

    @cached_property
    def pulls(self) -> "SqliteNotices":
        from punchlist.adapters.store.serving.pull_notices import SqliteNotices

        return SqliteNotices(self.store, self._home)

    def claim_run(self, run: str) -> bool:
        """Return True: on one machine the run's lock, and its first event below it, decide."""
        return True

    def wait_for(self, seconds: float) -> None:
        """A file is there or not: it is not waited for."""

    def watch(self, changed: Callable[[str], None]) -> "_Unnoticed":
        """Other processes write without a notice: readers have to look from time to time."""
        return _Unnoticed()

    @property
    def queue(self) -> None:
        """One machine has no queue."""

    @property
    def workers(self) -> None:
        """One machine has no workers."""

    @property
    def units(self) -> None:
        """One machine has no other workers."""

    def close(self) -> None:
        if "store" in self.__dict__:
            self.store.close()
