"""The repositories that a server may work on: registered by somebody who may, and remembered in the
state folder.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.app.state_folder import write_state
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
        known = await find_repository(folder)
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
        write_state(self._home, FILE, msgspec.json.encode(repositories))


async def find_repository(folder: Path) -> Registered:
    """Return the repository around a folder."""
    checkout = await Checkout.find(folder)
    return Registered(
        id=repository_id(checkout),
        name=checkout.root.name,
        root=str(checkout.root),
        git_dir=str(checkout.git_dir),
    )


async def find_repositories(folders: Iterable[Path]) -> tuple[Registered, ...]:
    """Return the repositories around these folders, each once."""
    found = [await find_repository(folder) for folder in folders]
    return tuple({each.id: each for each in found}.values())
