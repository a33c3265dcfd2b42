"""Keep a child's output whole up to a limit, else its beginning and end."""

import tempfile
from pathlib import Path

LINES = 512
"""How many lines of each end are kept when something has to go."""
_IN_MEMORY = 4 << 20
"""Bytes; a stream that is longer goes to a file, and of each end no more is kept."""
_ON_DISK = Path("/var", "tmp")
"""The usual folder for temporary files is often memory. The file has no name."""


class BoundedOutput:
    """Bytes of a stream: in memory while they are few, then in a file; over `limit`, both ends."""

    def __init__(self, limit: int) -> None:
        self._limit = max(limit // 2, 1) * 2
        self._end = min(self._limit // 2, _IN_MEMORY)
        folder = str(_ON_DISK) if _ON_DISK.is_dir() else None
        self._whole = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=folder)  # noqa: SIM115  # `close`
        self._head = b""
        self._tail = bytearray()
        self._size = 0
        self._lines = 0

    def write(self, data: bytes) -> None:
        self._lines += data.count(b"\n")
        self._tail += data
        if len(self._tail) > 2 * self._end:  # cut rarely, so that a flood costs linear time
            del self._tail[: -self._end]
        was_cut = self.cut
        self._size += len(data)
        if not self.cut:
            self._whole.write(data)
        elif not was_cut:
            self._whole.seek(0)
            self._head = (self._whole.read(self._end) + data)[: self._end]
            self.close()

    def close(self) -> None:
        self._whole.close()

    @property
    def cut(self) -> bool:
        return self._size > self._limit

    def value(self) -> bytes:
        if self.cut:
            tail = bytes(self._tail[-self._end :])
            return join_ends(self._head, tail, size=self._size, lines=self._lines)
        self._whole.seek(0)
        return self._whole.read()


def join_ends(head: bytes, tail: bytes, *, size: int, lines: int) -> bytes:
    """Join the first lines of `head` and the last of `tail`, with a line about what is missing."""
    first = b"".join(head.splitlines(keepends=True)[:LINES])
    last = b"".join(tail.splitlines(keepends=True)[-LINES:])
    gone = size - len(first) - len(last)
    lost = max(lines - first.count(b"\n") - last.count(b"\n"), 0)
    note = f"[... {gone} bytes, {lost} lines, are missing here ...]\n".encode()
    return first + (b"" if first.endswith(b"\n") else b"\n") + note + last


def limit_text(text: bytes, limit: int) -> bytes:
    """Return the text, or its first and last lines if it is longer than `limit` bytes."""
    output = BoundedOutput(limit)
    output.write(text)
    try:
        return output.value()
    finally:
        output.close()
