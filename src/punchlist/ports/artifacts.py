"""The ports to files of a run and to cached measurements."""

from collections.abc import Callable, Mapping
from typing import Protocol


class Artifacts(Protocol):
    """Evidence and reports of a run, by name. Each method may wait for a store that is away."""

    def write(self, name: str, content: bytes) -> str:
        """Store the content atomically and return its path for the user."""
        ...

    def create(self, name: str, content: bytes) -> bytes | None:
        """Store the content if there is none under the name, else return what is there; of several
        processes one wins. After an answer of the store that was lost it may be this content.
        """
        ...

    def read(self, name: str) -> bytes | None:
        """Return the content. Raise StoreError if it is not what was pinned."""
        ...

    def pin(self, pins: Mapping[str, str]) -> None:
        """Refuse other contents than those with these SHA-256 hashes, by name."""
        ...

    def locate(self, name: str) -> str:
        """Return the path of a file for the user."""
        ...

    def list_sizes(self) -> Mapping[str, int]:
        """Return the size of each file by name, but for what only the run's process may read."""
        ...

    def remove(self) -> bool:
        """Delete all files of the run; return whether there were some."""
        ...


Tell = Callable[[str], None]


class ArtifactStore(Protocol):
    """The files of all runs."""

    def open(self, run: str, tell: Tell) -> Artifacts:
        """Return the files of a run; `tell` is given a line when their store is waited for."""
        ...

    def list_runs(self) -> frozenset[str]:
        """Return the runs that have files."""
        ...


class Cache(Protocol):
    """Measurements that stay valid: the key holds everything they depend on."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes) -> None: ...
