"""Repositories, allowances and keys of requests in files."""

import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.store.serving.files import JsonFile
from punchlist.ports.serving.records import KeyRecord, RepositoryEntry

_KEYS = "requests/keys"
_KEPT = 7 * 86400
"""Seconds for which a key is known."""


class FileRepositories:
    def __init__(self, home: Path) -> None:
        self._known: JsonFile[tuple[RepositoryEntry, ...]] = JsonFile(
            home,
            "repositories.json",
            (),
            tuple[RepositoryEntry, ...],
            "put it right, or remove it and register again",
        )

    def list_all(self) -> tuple[RepositoryEntry, ...]:
        return self._known.read()

    def add(self, repository: RepositoryEntry) -> None:
        self._known.change(lambda known: (*_without(known, repository.id), repository))

    def remove(self, identifier: str) -> bool:
        """Unregister it; return whether it was registered."""
        return self._known.change(lambda known: _without(known, identifier))


def _without(known: tuple[RepositoryEntry, ...], identifier: str) -> tuple[RepositoryEntry, ...]:
    return tuple(each for each in known if each.id != identifier)


class GrantedHashes(Struct, frozen=True):
    fingerprints: frozenset[str] = frozenset()


class FileAllowances:
    """A file in the folder of each repository; a damaged one allows nothing."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def list_granted(self, repository: str) -> frozenset[str]:
        return self._file(repository).read().fingerprints

    def grant(self, repository: str, *fingerprints: str) -> None:
        self._file(repository).change(
            lambda granted: GrantedHashes(granted.fingerprints.union(fingerprints))
        )

    def revoke(self, repository: str) -> None:
        self._file(repository).change(lambda _: GrantedHashes())

    def _file(self, repository: str) -> JsonFile[GrantedHashes]:
        name = f"repos/{repository}/allowed.json"
        return JsonFile(self._home, name, GrantedHashes(), GrantedHashes)


class FileKeys:
    """A file for each key, removed after a week."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def read(self, key: str) -> KeyRecord | None:
        kept = self._file(key).read()
        return kept if kept and kept.run else None

    def claim(self, key: str, record: KeyRecord) -> KeyRecord:
        """Keep the record if the key is new; return the one that is kept."""
        self._remove_old()
        self._file(key).change(lambda kept: kept if kept and kept.run else record)
        return self.read(key) or record

    def _file(self, key: str) -> JsonFile[KeyRecord | None]:
        name = f"{_KEYS}/{sha256(key.encode(errors='surrogatepass')).hexdigest()}.json"
        return JsonFile(self._home, name, None, KeyRecord)

    def _remove_old(self) -> None:
        before = time.time() - _KEPT
        with suppress(FileNotFoundError):
            for path in (self._home / _KEYS).iterdir():
                if path.stat().st_mtime < before:
                    path.unlink(missing_ok=True)
