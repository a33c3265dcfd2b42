"""Repositories that a server may work on."""

from collections.abc import Iterable
from pathlib import Path

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import repository_id
from punchlist.errors import UsageError
from punchlist.ports.serving.records import RepositoryEntry, RepositoryList

__all__ = ["Repositories", "RepositoryEntry", "find_repositories", "find_repository"]


class Repositories:
    def __init__(self, known: RepositoryList) -> None:
        self._known = known
        self.list_all = known.list_all
        self.forget = known.remove

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
        self._known.add(known)
        return known


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
