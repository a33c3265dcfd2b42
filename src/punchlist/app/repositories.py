"""Repositories that a server may work on, registered in the state folder."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.app.state_folder import write_state
from punchlist.errors import StoreError, UsageError

FILE = "repositories.json"


class RepositoryEntry(Struct, frozen=True, kw_only=True):
    """`id` names it in requests, `git_dir` in the ledger."""

    id: str
    name: str
    root: str
    git_dir: str


class Repositories:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE

    def list_all(self) -> tuple[RepositoryEntry, ...]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[RepositoryEntry, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"{self._path}: cannot be read: {error}",
                hint="put it right, or remove it and register again",
            ) from error

    def find(self, identifier: str) -> RepositoryEntry | None:
        return next((each for each in self.list_all() if each.id == identifier), None)

    def find_git_dir(self, git_dir: str) -> RepositoryEntry | None:
        """Return the registered repository of a ledger's run, or None."""
        return next((each for each in self.list_all() if each.git_dir == git_dir), None)

    async def register(self, folder: Path) -> RepositoryEntry:
        """Register the repository around a folder; a known one stays."""
        if not folder.is_absolute():
            raise UsageError(
                f"{folder}: is no absolute path",
                hint="give the whole path of a git repository on this machine",
            )
        known = await find_repository(folder)
        self._write((*(each for each in self.list_all() if each.id != known.id), known))
        return known

    def forget(self, identifier: str) -> bool:
        """Unregister it; return whether it was registered. Its runs stay in the ledger."""
        known = self.list_all()
        kept = tuple(each for each in known if each.id != identifier)
        if kept != known:
            self._write(kept)
        return kept != known

    def _write(self, repositories: tuple[RepositoryEntry, ...]) -> None:
        write_state(self._home, FILE, msgspec.json.encode(repositories))


async def find_repository(folder: Path) -> RepositoryEntry:
    checkout = await Checkout.find(folder)
    return RepositoryEntry(
        id=repository_id(checkout),
        name=checkout.root.name,
        root=str(checkout.root),
        git_dir=str(checkout.git_dir),
    )


async def find_repositories(folders: Iterable[Path]) -> tuple[RepositoryEntry, ...]:
    """Return the repositories around these folders, each once."""
    found = [await find_repository(folder) for folder in folders]
    return tuple({each.id: each for each in found}.values())
