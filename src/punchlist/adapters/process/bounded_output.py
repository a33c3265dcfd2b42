"""What a child wrote, whole as long as it is reasonable, else its beginning and its end."""

LINES = 512
"""How many lines of each end are kept when something has to go."""


class Output:
    """A stream's bytes, bounded: memory never holds much more than `limit`, however much is
    written.
    """

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
        return shortened(
            bytes(self._head), bytes(self._tail[-self._half :]), size=self._size, lines=self._lines
        )


def shortened(head: bytes, tail: bytes, *, size: int, lines: int) -> bytes:
    """The first lines of `head`, the last lines of `tail`, and between them a line that says how
    much is missing.
    """
    first = b"".join(head.splitlines(keepends=True)[:LINES])
    last = b"".join(tail.splitlines(keepends=True)[-LINES:])
    gone = size - len(first) - len(last)
    lost = max(lines - first.count(b"\n") - last.count(b"\n"), 0)
    note = f"[... {gone} bytes, {lost} lines, are missing here ...]\n".encode()
    return first + (b"" if first.endswith(b"\n") else b"\n") + note + last


def bounded(text: bytes, limit: int) -> bytes:
    """The text, or its first and last lines where it is longer than `limit`."""
    output = Output(limit)
    output.write(text)
    return output.value()
