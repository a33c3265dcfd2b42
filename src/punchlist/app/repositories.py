"""Repositories that a server may work on, registered in the state folder."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.app.state_folder import write_state
from punchlist.errors import StoreError, UsageError
from punchlist.model.ledger.run_row import RepositoryKey

FILE = "repositories.json"


class RepositoryEntry(Struct, frozen=True, kw_only=True):
    """`id` names it in requests, `git_dir` and `identity` in the ledger."""

    id: str
    name: str
    root: str
    git_dir: str
    identity: str | None = None
    """None if it was registered by a version that did not look for it."""

    @property
    def key(self) -> RepositoryKey:
        return RepositoryKey(self.git_dir, self.identity)


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

    def find_owner(self, path: str, identity: str) -> RepositoryEntry | None:
        """Return the registered repository of a run, that very clone if there are several."""
        return find_owner(self.list_all(), path, identity)

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
        identity=checkout.identity,
    )


def find_owner(
    repositories: Iterable[RepositoryEntry], path: str, identity: str
) -> RepositoryEntry | None:
    """Return the repository that a run is about, by what the run recorded; None if it is none of
    these.
    """
    owners = [each for each in repositories if each.key.owns(path, identity)]
    return next((each for each in owners if each.git_dir == path), next(iter(owners), None))


async def find_repositories(folders: Iterable[Path]) -> tuple[RepositoryEntry, ...]:
    """Return the repositories around these folders, each once."""
    found = [await find_repository(folder) for folder in folders]
    return tuple({each.id: each for each in found}.values())
