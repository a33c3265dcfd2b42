"""Keep a child's output whole up to a limit, else its beginning and end."""

LINES = 512
"""How many lines of each end are kept when something has to go."""


class BoundedOutput:
    """Bytes of a stream; memory use stays near `limit`."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._lines = 0

    def write(self, data: bytes) -> None:
        self._size += len(data)
        self._lines += data.count(b"\n")
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data
        if len(self._tail) > 2 * self._half:  # cut rarely, so that a flood costs linear time
            del self._tail[: -self._half]

    @property
    def cut(self) -> bool:
        return self._size > 2 * self._half

    def value(self) -> bytes:
        if not self.cut:
            return bytes(self._head + self._tail)
        return join_ends(
            bytes(self._head), bytes(self._tail[-self._half :]), size=self._size, lines=self._lines
        )


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
    return output.value()
