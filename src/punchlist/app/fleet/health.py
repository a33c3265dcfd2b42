"""Tell on loopback over HTTP whether a worker is well, for a supervisor."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

_LONGEST = 8192
_PATIENCE = 5


class Health(Struct, frozen=True, kw_only=True):
    """`ready`: it takes runs."""

    worker: str
    ready: bool
    draining: bool
    runs: tuple[str, ...]
    width: int


class HealthServer:
    """Answers each GET with the health as JSON: 200 if the worker takes runs, else 503."""

    def __init__(self, look: Callable[[], Health]) -> None:
        self._look = look
        self._server: asyncio.Server | None = None

    async def open(self, port: int) -> str:
        """Listen on loopback, at any free port for 0; return the address."""
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", port, limit=_LONGEST)
        host, chosen = self._server.sockets[0].getsockname()
        return f"http://{host}:{chosen}"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                asked = await reader.readuntil(b"\r\n\r\n")
                health = self._look()
                fine = "200 OK" if health.ready else "503 Service Unavailable"
                status = fine if asked.startswith(b"GET ") else "405 Method Not Allowed"
                body = msgspec.json.encode(health)
                head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
                head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                writer.write(head.encode() + body)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the one that asked is gone, or asked nothing that can be answered
        finally:
            writer.close()
