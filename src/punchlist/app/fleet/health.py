"""Tell over HTTP whether a worker is well, for a supervisor."""

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import Struct

from punchlist.errors import UsageError

_LONGEST = 8192
_PATIENCE = 5
LIVE = "/live"
READY = "/ready"


class WorkerHealth(Struct, frozen=True, kw_only=True):
    """`ready`: it takes runs; `why`: why it does not, if it lacks room."""

    worker: str
    ready: bool
    draining: bool
    runs: tuple[str, ...]
    units: int = 0
    """How many single actions it does for runs of other workers."""
    width: int
    why: str = ""


class HealthServer:
    """Answers each GET with the health as JSON: 200 if the worker takes runs, else 503; at `/live`
    always 200: a worker that drains, or waits for the database, must not be killed for it.
    """

    def __init__(self, look: Callable[[], WorkerHealth]) -> None:
        self._look = look
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int) -> str:
        """Listen there, at any free port for 0; return the address. Raise UsageError."""
        try:
            self._server = await asyncio.start_server(self._answer, host, port, limit=_LONGEST)
        except OSError as error:
            raise UsageError(
                f"{host}:{port}: cannot listen there: {error.strerror or error}",
                hint="choose another --health-port or --health-host; port 0 is any that is free",
            ) from error
        name, chosen = self._server.sockets[0].getsockname()[:2]
        return f"http://[{name}]:{chosen}" if ":" in name else f"http://{name}:{chosen}"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_PATIENCE):
                asked = await reader.readuntil(b"\r\n\r\n")
                health = self._look()
                live = asked.startswith(f"GET {LIVE} ".encode())
                fine = "200 OK" if live or health.ready else "503 Service Unavailable"
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
