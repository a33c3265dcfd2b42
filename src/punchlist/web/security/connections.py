"""Bound what connections may cost: time-outs for headers, body, idle and unread answers; caps."""

import asyncio
import logging
import resource
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from punchlist.settings import ServeSettings

_RESERVED = 128
"""Descriptors that are kept for the ledger, for runs and for other files."""
_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 5\r\n"
    b"content-length: 0\r\n\r\n"
)
_LOCAL = frozenset({"127.0.0.1", "::1"})
_PATIENCE = 1.0
"""Seconds after which a connection without a request may be closed for another."""
_SAME_LINE = 60.0
_LINES = 200
"""How many different lines pass in that time."""


class ConnectionTable:
    """The open connections. Those without a request under way are closed, oldest first, where
    there are too many; a new one is turned away only if all others are busy.
    """

    def __init__(self, limits: ServeSettings) -> None:
        self.limits = limits
        self.most = max(8, min(limits.connections, _count_descriptors() - _RESERVED))
        self.most_waiting = max(4, min(limits.waiting, self.most * 3 // 4))
        self._open: dict[GuardedProtocol, str] = {}
        self._waiting: dict[GuardedProtocol, float] = {}
        """Since when they wait, the oldest first."""
        self._peers: dict[str, int] = {}

    def admit(self, connection: "GuardedProtocol", peer: str) -> bool:
        """Count a new connection; return False if there is no room for it."""
        if len(self._waiting) >= self.most_waiting:
            self.drop_oldest(_PATIENCE)
        # Behind a proxy on this machine all visitors have its address.
        crowded = peer not in _LOCAL and self._peers.get(peer, 0) >= max(4, self.most // 2)
        if crowded or (len(self._open) >= self.most and not self.drop_oldest()):
            return False
        self._open[connection] = peer
        self._peers[peer] = self._peers.get(peer, 0) + 1
        self._waiting[connection] = time.monotonic()
        return True

    def set_waiting(self, connection: "GuardedProtocol", *, waits: bool) -> None:
        """Note whether a connection has no request under way."""
        if not waits:
            self._waiting.pop(connection, None)
        elif connection in self._open:
            self._waiting.setdefault(connection, time.monotonic())

    def forget(self, connection: "GuardedProtocol") -> None:
        self._waiting.pop(connection, None)
        peer = self._open.pop(connection, None)
        if peer is not None:
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]

    def drop_oldest(self, least: float = 0) -> bool:
        """Close the connection that has waited longest, and for `least` seconds; return whether
        there was one.
        """
        oldest, since = next(iter(self._waiting.items()), (None, 0.0))
        if oldest is None or time.monotonic() - since < least:
            return False
        self.forget(oldest)
        reset(oldest.transport)
        return True


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 of which each part has its time; `table` is set for each server."""

    table: ConnectionTable
    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _stage = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if not self.table.admit(self, self.client[0] if self.client else ""):
            transport.write(_FULL)
            transport.close()
            return
        self._enter("headers")

    def connection_lost(self, exc: Exception | None) -> None:
        self.table.forget(self)
        self._enter("")
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow_state()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow_state()

    def pause_writing(self) -> None:
        """Begin to count how long the reader leaves its answer unread."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.table.limits.unread, reset, self.transport)

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        super().resume_writing()

    def _follow_state(self) -> None:
        """Set the timer for the part of the request that is awaited now."""
        if self.transport.is_closing():
            self._enter("")
            return
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy:
            receiving = self.conn.their_state is h11.SEND_BODY
            self._enter("body" if receiving else "")
        elif self.timeout_keep_alive_task is not None:
            self._enter("idle")  # uvicorn's own timer ends it
        else:
            self._enter("headers")
        self.table.set_waiting(self, waits=not busy)

    def _enter(self, stage: str) -> None:
        """Start the time of a part; bytes that drip in do not prolong it."""
        if stage == self._stage:
            return
        self._stage = stage
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        seconds = {"headers": self.table.limits.headers, "body": self.table.limits.body}.get(stage)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self._stage == "headers" and not self.transport.is_closing():
            self.transport.write(_LATE)
            self.transport.close()
        self.transport.abort()


def reset(transport: asyncio.Transport) -> None:
    """End a connection at once, also what the system still holds to send."""
    opened = transport.get_extra_info("socket")
    if opened is not None and not transport.is_closing():
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def guard_connections(limits: ServeSettings) -> tuple[type[GuardedProtocol], ConnectionTable]:
    """Return the protocol of one server, and the table of its connections."""
    table = ConnectionTable(limits)
    return type("ServerProtocol", (GuardedProtocol,), {"table": table}), table


class RepeatedLines(logging.Filter):
    """Lets a log line pass once a minute, then with how often it was left out; and not more than
    some hundred different ones.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._since = clock()
        self._left_out: dict[str, int] = {}
        """By line that passed: how often it came again."""

    def filter(self, record: logging.LogRecord) -> bool:
        line = f"{record.name} {record.getMessage()}"
        again = 0
        if self._clock() - self._since >= _SAME_LINE:
            again = self._left_out.get(line, 0)
            self._since = self._clock()
            self._left_out.clear()
        elif line in self._left_out or len(self._left_out) >= _LINES:
            if line in self._left_out:
                self._left_out[line] += 1
            return False
        self._left_out[line] = 0
        if again:
            record.msg, record.args = f"{record.getMessage()} (and {again} times more before)", ()
        return True


def handle_loop_error(
    table: ConnectionTable,
) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return an event loop's error handler: if descriptors ran out, it drops a connection."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if isinstance(context.get("exception"), OSError) and "socket" in context:
            table.drop_oldest()
        loop.default_exception_handler(context)

    return handle


def _count_descriptors() -> int:
    """Return how many files this process may open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft
