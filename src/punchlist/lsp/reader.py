"""Read messages from standard input without trusting the lengths that they name."""

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

_LONGEST_HEADER = 1000
LARGEST = 64 << 20
"""Bytes of a message; a larger one is read and dropped."""


class BoundedReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._thread = ThreadPoolExecutor(1, "punchlist stdin")

    def readline(self) -> Awaitable[bytes]:
        return asyncio.get_running_loop().run_in_executor(self._thread, self._read_header)

    def readexactly(self, size: int) -> Awaitable[bytes]:
        return asyncio.get_running_loop().run_in_executor(self._thread, self._read_body, size)

    def _read_header(self) -> bytes:
        """Return a header line; of an overlong one only its end."""
        line = self._stream.readline(_LONGEST_HEADER)
        while len(line) == _LONGEST_HEADER and not line.endswith(b"\n"):
            line = self._stream.readline(_LONGEST_HEADER)
        return line

    def _read_body(self, size: int) -> bytes:
        if size <= LARGEST:
            return self._stream.read(size)
        while size > 0 and (dropped := self._stream.read(min(size, LARGEST))):
            size -= len(dropped)
        return b"{}"
