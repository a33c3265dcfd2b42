"""What agents print, read without trust: JSON lines among noise, and values that may be of any
shape.
"""

import re
from collections.abc import Iterator

import msgspec

_NONSENSE = 1e15
"""No tokens, seconds or dollars are as many."""
_LONGEST = 64 << 20
"""Bytes of a line that did not end yet."""
_HALF = re.compile(
    r"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
)


class Event:
    """One JSON object of a stream. Whatever is missing or of another shape reads as empty, so no
    line can break a reader.
    """

    def __init__(self, value: object, noise: bytes = b"") -> None:
        self._value = value
        self._noise = noise

    @property
    def noise(self) -> str:
        """A line that is no JSON object, for listeners of agents that speak plainly."""
        return self._noise.decode(errors="replace")

    def at(self, *path: str) -> "Event":
        return Event(self._found(path))

    def text(self, *path: str) -> str:
        value = self._found(path)
        return value if isinstance(value, str) else ""

    def number(self, *path: str) -> float:
        value = self._found(path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 0
        return value if abs(value) < _NONSENSE else 0

    def count(self, *path: str) -> int:
        return max(int(self.number(*path)), 0)

    def true(self, *path: str) -> bool:
        return self._found(path) is True

    def has(self, *path: str) -> bool:
        return self._found(path) is not None

    def items(self, *path: str) -> "list[Event]":
        value = self._found(path)
        return [Event(entry) for entry in value] if isinstance(value, list) else []

    def values(self, *path: str) -> "list[Event]":
        """What an object has under any name."""
        value = self._found(path)
        return [Event(entry) for entry in value.values()] if isinstance(value, dict) else []

    def json(self, *path: str) -> str:
        """The value as JSON text; empty where there is none."""
        value = self._found(path)
        return "" if value is None else msgspec.json.encode(value).decode()

    def _found(self, path: tuple[str, ...]) -> object:
        value = self._value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value


def event(line: bytes) -> Event:
    """The object on a line; an empty one where the line is anything else."""
    stripped = line.strip()
    value = _decoded(stripped) if stripped.startswith(b"{") else None
    return Event(value) if isinstance(value, dict) else Event(None, stripped)


def _decoded(line: bytes) -> object:
    """Bytes that are no UTF-8, and halves of characters that JavaScript cuts apart, cost a letter
    and not the line.
    """
    text = line.decode(errors="replace")
    try:
        return msgspec.json.decode(_HALF.sub(r"\\ufffd", text) if "\\ud" in text.lower() else text)
    except (msgspec.DecodeError, RecursionError):
        return None


def events(output: bytes) -> Iterator[Event]:
    """The objects of a stream in order; noise is left out."""
    for line in output.split(b"\n"):
        if (found := event(line)).has():
            yield found


class Lines:
    """Makes whole lines of pieces as they come. One that has no end is not kept, and is empty when
    it ends after all.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def fed(self, piece: bytes) -> list[bytes]:
        *whole, rest = piece.split(b"\n")
        if whole:
            whole[0] = b"".join([*self._rest, whole[0]]) if self._size <= _LONGEST else b""
            self._rest, self._size = [], 0
        self._size += len(rest)
        if self._size <= _LONGEST:
            self._rest.append(rest)
        else:
            self._rest.clear()
        return whole
