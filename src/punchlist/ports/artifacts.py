"""The ports to files of a run and to cached measurements."""

from typing import Protocol


class Artifacts(Protocol):
    """Evidence and reports of a run, by name."""

    def write(self, name: str, content: bytes) -> str:
        """Stores it whole or not at all, and returns where a person finds it."""
        ...

    def read(self, name: str) -> bytes | None: ...


class Cache(Protocol):
    """What was measured once and holds for ever: keyed by everything it depends on."""

    def get(self, key: str) -> bytes | None: ...

    def put(self, key: str, value: bytes) -> None: ...
