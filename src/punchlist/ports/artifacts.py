"""The ports to files of a run and to cached measurements."""

from collections.abc import Mapping
from typing import Protocol


class Artifacts(Protocol):
    """Evidence and reports of a run, by name."""

    def write(self, name: str, content: bytes) -> str:
        """Store the content atomically and return its path for the user."""
        ...

    def read(self, name: str) -> bytes | None: ...

    def list_sizes(self) -> Mapping[str, int]:
        """Return the size of each file by name, but for what only the run's process may read."""
        ...


class Cache(Protocol):
    """Measurements that stay valid: the key holds everything they depend on."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes) -> None: ...
