"""The repositories that a server may work on: registered by somebody who may, and remembered in the
state folder.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.permissions import keep_private
from punchlist.errors import StoreError, UsageError

FILE = "repositories.json"


class Registered(Struct, frozen=True, kw_only=True):
    """`id` is what requests name it by; `git_dir` is what the ledger knows it by."""

    id: str
    name: str
    root: str
    git_dir: str


class Repositories:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE

    def all(self) -> tuple[Registered, ...]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[Registered, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"{self._path}: cannot be read: {error}",
                hint="put it right, or remove it and register again",
            ) from error

    def find(self, identifier: str) -> Registered | None:
        return next((each for each in self.all() if each.id == identifier), None)

    def of(self, git_dir: str) -> Registered | None:
        """The one that a run of the ledger is about; None where it is not, or not any more,
        registered.
        """
        return next((each for each in self.all() if each.git_dir == git_dir), None)

    async def register(self, folder: Path) -> Registered:
        """The repository around a folder; one that is there already stays as it is."""
        if not folder.is_absolute():
            raise UsageError(
                f"{folder}: is no absolute path",
                hint="give the whole path of a git repository on this machine",
            )
        checkout = await Checkout.find(folder)
        known = Registered(
            id=repository_id(checkout),
            name=checkout.root.name,
            root=str(checkout.root),
            git_dir=str(checkout.git_dir),
        )
        self._write((*(each for each in self.all() if each.id != known.id), known))
        return known

    def forget(self, identifier: str) -> bool:
        """Whether it was registered. Its runs stay in the ledger."""
        kept = tuple(each for each in self.all() if each.id != identifier)
        gone = len(kept) < len(self.all())
        if gone:
            self._write(kept)
        return gone

    def _write(self, repositories: tuple[Registered, ...]) -> None:
        try:
            keep_private(self._home)
            write_whole(self._path, msgspec.json.encode(repositories))
        except OSError as error:
            raise StoreError(
                f"{self._path}: cannot be written: {error.strerror}",
                hint="point PUNCHLIST_HOME at a folder that can be written",
            ) from error
