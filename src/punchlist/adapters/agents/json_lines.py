"""Tolerant parser for the JSON lines that agents print among other output."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from punchlist.model.finding.guarded_text import parse_json

_NONSENSE = 1e15
"""More tokens, seconds or dollars than any call has."""
_LONGEST = 64 << 20
"""Bytes of a line that did not end yet."""
_HALF = re.compile(
    r"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
)


class JsonEvent:
    """One JSON object of a stream. Missing values and wrong types read as empty."""

    def __init__(self, value: object, noise: bytes = b"") -> None:
        self._value = value
        self._noise = noise

    @property
    def noise(self) -> str:
        """The line as text, if it is not a JSON object."""
        return self._noise.decode(errors="replace")

    @property
    def type(self) -> str:
        return self.text("type")

    def get(self, *path: str) -> "JsonEvent":
        return JsonEvent(self._get_value(path))

    def text(self, *path: str) -> str:
        value = self._get_value(path)
        return value if isinstance(value, str) else ""

    def number(self, *path: str) -> float:
        value = self._get_value(path)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return 0
        return value if abs(value) < _NONSENSE else 0

    def count(self, *path: str) -> int:
        return max(int(self.number(*path)), 0)

    def is_true(self, *path: str) -> bool:
        return self._get_value(path) is True

    def has(self, *path: str) -> bool:
        return self._get_value(path) is not None

    def items(self, *path: str) -> "list[JsonEvent]":
        value = self._get_value(path)
        return [JsonEvent(entry) for entry in value] if isinstance(value, list) else []

    def values(self, *path: str) -> "list[JsonEvent]":
        """Return the values of an object, whatever their names."""
        value = self._get_value(path)
        return [JsonEvent(entry) for entry in value.values()] if isinstance(value, dict) else []

    def json(self, *path: str) -> str:
        """Return the value as JSON text, or ''."""
        value = self._get_value(path)
        return "" if value is None else msgspec.json.encode(value).decode()

    def _get_value(self, path: tuple[str, ...]) -> object:
        value = self._value
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value


def parse_event(line: bytes) -> JsonEvent:
    """Parse one line; other text than a JSON object gives an empty event with `noise`."""
    stripped = line.strip()
    value = _decode_line(stripped) if stripped.startswith(b"{") else None
    return JsonEvent(value) if isinstance(value, dict) else JsonEvent(None, stripped)


def _decode_line(line: bytes) -> object:
    """Decode JSON, or return None; invalid UTF-8 and lone surrogates are replaced."""
    text = line.decode(errors="replace")
    try:
        return parse_json(_HALF.sub(r"\\ufffd", text) if "\\ud" in text.lower() else text, object)
    except msgspec.DecodeError:
        return None


def parse_events(output: bytes) -> Iterator[JsonEvent]:
    """Yield the JSON objects of a stream in order; skip all other lines."""
    for line in output.split(b"\n"):
        if (found := parse_event(line)).has():
            yield found


def find_last(events: Sequence[JsonEvent], *types: str) -> JsonEvent | None:
    """Return the last event of one of the types, or None."""
    return next((event for event in reversed(events) if event.type in types), None)


def first_text(events: Sequence[JsonEvent], name: str) -> str:
    """Return the first text of that name in the events, or ''."""
    return next((text for event in events if (text := event.text(name))), "")


class LineBuffer:
    """Joins pieces of output into whole lines. A line over the limit is returned empty."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes]:
        """Add a piece and return the lines that are now complete."""
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
