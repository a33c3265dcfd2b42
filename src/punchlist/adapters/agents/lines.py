"""What agents print, read without trust: JSON lines among noise, and values that may be of any shape."""

from collections.abc import Iterator
from typing import Any

import msgspec


class Event:
    """One JSON object of a stream. Whatever is missing or of another shape reads as empty, so no line can break a reader."""

    def __init__(self, value: object, noise: bytes = b"") -> None:
        self._value = value
        self._noise = noise

    @property
    def noise(self) -> str:
        """A line that is no JSON object, for listeners of agents that speak plainly."""
        return self._noise.decode(errors="replace")

    def at(self, *path: str) -> "Event":
        value = self._value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return Event(value)

    def text(self, *path: str) -> str:
        value = self.at(*path)._value  # noqa: SLF001  # another one of ours
        return value if isinstance(value, str) else ""

    def number(self, *path: str) -> float:
        value = self.at(*path)._value  # noqa: SLF001  # another one of ours
        fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15  # noqa: PLR2004  # tokens, seconds, dollars: beyond is nonsense
        return value if fits else 0  # type: ignore[return-value]  # `fits` says what it is

    def count(self, *path: str) -> int:
        return max(int(self.number(*path)), 0)

    def true(self, *path: str) -> bool:
        return self.at(*path)._value is True  # noqa: SLF001  # another one of ours

    def has(self, *path: str) -> bool:
        return self.at(*path)._value is not None  # noqa: SLF001  # another one of ours

    def items(self, *path: str) -> "list[Event]":
        value = self.at(*path)._value  # noqa: SLF001  # another one of ours
        return [Event(entry) for entry in value] if isinstance(value, list) else []

    def json(self, *path: str) -> str:
        """The value as JSON text; empty where there is none."""
        value = self.at(*path)._value  # noqa: SLF001  # another one of ours
        return "" if value is None else msgspec.json.encode(value).decode()


def event(line: bytes) -> Event:
    """The object on a line; an empty one where the line is anything else."""
    stripped = line.strip()
    if not stripped.startswith(b"{"):
        return Event(None, stripped)
    value: Any = None
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.DecodeError, RecursionError):
        return Event(None, stripped)
    return Event(value)


def events(output: bytes) -> Iterator[Event]:
    """The objects of a stream in order; noise is left out."""
    for line in output.split(b"\n"):
        if (found := event(line)).has():
            yield found


class Lines:
    """Makes whole lines of pieces as they come."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []

    def fed(self, piece: bytes) -> list[bytes]:
        *whole, rest = piece.split(b"\n")
        if not whole:
            self._rest.append(rest)
            return []
        whole[0] = b"".join([*self._rest, whole[0]])
        self._rest = [rest]
        return whole
