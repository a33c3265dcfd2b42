"""The web server: on loopback by default; when it stops, active runs stop between two events."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import uvicorn
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.app.drive.unfinished import UnfinishedRun, find_unfinished
from punchlist.errors import UsageError
from punchlist.settings import load_settings
from punchlist.web.application import build_site
from punchlist.web.gate import Rules
from punchlist.web.security.connections import (
    ConnectionTable,
    RepeatedLines,
    guard_connections,
    handle_loop_error,
)
from punchlist.web.security.sessions import Sessions
from punchlist.web.security.tokens import Tokens
from punchlist.web.state import Options, WebSession

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
_GRACE = 5
_HANG_UP = 3
_BACKLOG = 2048
_AT_ONCE = 16
"""How many new connections are taken at once: not more than descriptors are left for, since
asyncio stops to listen for a second when there are none.
"""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class ListenOptions(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 8470
    names: tuple[str, ...] = ()
    """Other names under which it may be called."""


class _Server(uvicorn.Server):
    """Tells its streams that it stops; else it would wait for them."""

    closing = False
    table: ConnectionTable
    on_exit: Callable[[], None] = staticmethod(lambda: None)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again, so that the exit code is 0."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, theirs in before.items():
                signal.signal(number, theirs)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first signal, exit at the second; ledgers stay whole, children end."""
        if self.closing:
            os._exit(128 + sig)
        self.closing = self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().set_exception_handler(handle_loop_error(self.table))
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(_BACKLOG)  # asyncio has set it to what it takes at once

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.on_exit()
        hanging_up = asyncio.create_task(self._hang_up())
        await super().shutdown(sockets)
        hanging_up.cancel()

    async def _hang_up(self) -> None:
        """Abort connections of clients that do not read, before uvicorn logs them."""
        await asyncio.sleep(_HANG_UP)
        for connection in self.server_state.connections.copy():
            if connection.transport is not None:
                connection.transport.abort()


class ServerInfo(Struct, frozen=True, kw_only=True):
    """`token` is good for this start, if there is no other; `link` signs in once."""

    address: str
    token: str
    link: str
    left: tuple[UnfinishedRun, ...] = ()
    """Runs that were left in the middle."""


def serve(
    home: Path, place: ListenOptions, options: Options, ready: Callable[[ServerInfo], None]
) -> None:
    """Serve until a signal comes; `ready` gets the address. Active runs can be resumed later."""
    server: _Server | None = None
    app = WebSession(home, options, lambda: server is not None and server.closing)
    tokens = Tokens(app.session.state.access)
    entrance = Sessions(tokens)
    rules = Rules(allowed_hosts(place, tokens))
    listening = _bind_socket(place)
    limits = load_settings(None, options.flags).settings.serve
    protocol, table = guard_connections(limits)
    config = uvicorn.Config(
        build_site(app, entrance, rules),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # any client could send them
        timeout_graceful_shutdown=_GRACE,
        lifespan="on",
        http=protocol,  # with the strict parser, also where a faster one is installed
        timeout_keep_alive=limits.idle,  # type: ignore[arg-type]  # a fraction is fine
        backlog=_AT_ONCE,
        ws="none",
    )
    for name in ("uvicorn.error", "asyncio", "punchlist"):
        logging.getLogger(name).addFilter(RepeatedLines())
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs each request to a forge
    server = _Server(config)
    server.table = table
    server.on_exit = app.driving.stop_all
    left = find_unfinished(app.session.state, app.repositories.list_all())
    app.left = left if options.resume else ()
    passing = "" if tokens.list_all() else tokens.create_temporary(Role.ADMIN)[0]
    with listening:
        address = _socket_address(listening)
        link = f"{_public_address(address, place)}/sign-in?code={entrance.issue_code()}"
        ready(ServerInfo(address=address, token=passing, link=link, left=left))
        server.run(sockets=[listening])


def allowed_hosts(place: ListenOptions, tokens: Tokens) -> frozenset[str]:
    """Return the host names to accept; raise UsageError if others could call without a token."""
    names = {name.lower() for name in place.names}
    if is_loopback(place.host):
        return frozenset({*_LOOPBACK, place.host.lower(), *names})
    if not tokens.list_all():
        raise UsageError(
            f"{place.host}: others could reach the server there, and there is no token yet",
            hint="`punchlist serve --new-token admin`, then try again; or leave --host out",
        )
    own = () if parse_ip(place.host) in _EVERYWHERE else (place.host.lower(),)
    return frozenset({*own, *names})


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    address = parse_ip(host)
    return address is not None and ip_address(address).is_loopback


def parse_ip(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def _bind_socket(place: ListenOptions) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        what = f"{place.host}:{place.port}: cannot be listened on: {error.strerror or error}"
        hint = "another process may be there already: give another --port"
        raise UsageError(what, hint=hint) from error
    listening.listen(_BACKLOG)
    return listening


def _public_address(address: str, place: ListenOptions) -> str:
    """Return the address with an own name if the server listens everywhere."""
    everywhere = parse_ip(place.host) in _EVERYWHERE and place.names
    return f"http://{place.names[0]}:{address.rpartition(':')[2]}" if everywhere else address


def _socket_address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
