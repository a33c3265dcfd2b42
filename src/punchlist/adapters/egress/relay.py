"""Pass bytes on, with a time limit for each piece; bodies exactly as long as their head says."""

import asyncio
import re
from collections.abc import Callable

from punchlist.adapters.egress.http_head import MessageHead, Refused

_PIECE = 64 << 10
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})(?:[ \t]*;[\x20-\x7e\t]*)?\r\n")
_LONGEST_LINE = 4096
Count = Callable[[int], None]
Show = Callable[[bytes], None]


def _show_nobody(data: bytes) -> None:
    """Let a piece pass unseen."""


class Relay:
    """One direction of a connection; `count` receives the number of bytes of each piece."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        idle: float,
        count: Count = lambda size: None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._idle = idle
        self._count = count

    async def send(self, data: bytes) -> None:
        async with asyncio.timeout(self._idle):
            self._writer.write(data)
            await self._writer.drain()
        self._count(len(data))

    async def copy_all(self, show: Show = _show_nobody) -> None:
        """Pass everything on to the end of the stream, then end the other one."""
        while data := await self._read(_PIECE):
            show(data)
            await self.send(data)
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    async def copy_body(self, head: MessageHead, show: Show = _show_nobody) -> None:
        """Pass one body on; raise Refused if it is malformed, IncompleteReadError if it is cut.

        `show` is called with each piece of the content before it is passed on.
        """
        if head.is_chunked:
            while size := await self._copy_chunk():
                await self._copy_bytes(size, show)
                await self._end_chunk()
        elif head.length is None:
            await self.copy_all(show)
        else:
            await self._copy_bytes(head.length, show)

    async def _copy_chunk(self) -> int:
        """Pass on the size of a chunk, without its extensions; after the last drop the trailers."""
        line = _CHUNK.fullmatch(await self._read_line())
        if line is None:
            raise Refused("malformed chunk", 0)
        size = int(line[1], 16)
        if size == 0:
            while await self._read_line() != b"\r\n":
                pass
        await self.send(b"%x\r\n" % size if size else b"0\r\n\r\n")
        return size

    async def _end_chunk(self) -> None:
        async with asyncio.timeout(self._idle):
            end = await self._reader.readexactly(2)
        if end != b"\r\n":
            raise Refused("malformed chunk", 0)
        await self.send(end)

    async def _copy_bytes(self, left: int, show: Show) -> None:
        while left:
            data = await self._read(min(left, _PIECE))
            if not data:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(data)
            show(data)
            await self.send(data)

    async def _read(self, most: int) -> bytes:
        async with asyncio.timeout(self._idle):
            return await self._reader.read(most)

    async def _read_line(self) -> bytes:
        async with asyncio.timeout(self._idle):
            line = await self._reader.readuntil(b"\r\n")
        if len(line) > _LONGEST_LINE or b"\n" in line[:-2] or b"\r" in line[:-2]:
            raise Refused("malformed chunk", 0)
        return line
