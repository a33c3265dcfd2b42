"""Serves the site: on loopback unless told otherwise, and so that nothing under way is lost when it
stops.
"""

import asyncio
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
from punchlist.app.drive.unfinished import Unfinished, unfinished
from punchlist.errors import UsageError
from punchlist.web.application import site
from punchlist.web.gate import Rules
from punchlist.web.security.sessions import Entrance
from punchlist.web.security.tokens import Tokens
from punchlist.web.state import Desk, Options

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
_GRACE = 5
_HANG_UP = 3
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Place(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: int = 8470
    names: tuple[str, ...] = ()
    """Other names under which it may be called."""
    rate: float = 100
    burst: float = 1000


class _Server(uvicorn.Server):
    """Tells its streams that it is about to stop; else it would wait for them."""

    closing = False
    on_exit: Callable[[], None] = staticmethod(lambda: None)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """A signal is how a server ends: it is not raised once more, as uvicorn would, and the exit
        code is that of success.
        """
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, theirs in before.items():
                signal.signal(number, theirs)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The second one ends it at once. That is safe: ledgers are always whole, and children end
        with their parent.
        """
        if self.closing:
            os._exit(128 + sig)
        self.closing = self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.on_exit()
        hanging_up = asyncio.create_task(self._hang_up())
        await super().shutdown(sockets)
        hanging_up.cancel()

    async def _hang_up(self) -> None:
        """Whoever does not read holds their connection open for ever: it is cut, before uvicorn
        does so with a noise.
        """
        await asyncio.sleep(_HANG_UP)
        for connection in self.server_state.connections.copy():
            if connection.transport is not None:
                connection.transport.abort()


class Opened(Struct, frozen=True, kw_only=True):
    """What whoever starts a server is told. `token` is good for this start, where no other was
    made; `link` signs in, once.
    """

    address: str
    token: str
    link: str
    left: tuple[Unfinished, ...] = ()
    """Runs that were left in the middle."""


def serve(home: Path, place: Place, options: Options, ready: Callable[[Opened], None]) -> None:
    """Until a signal comes; `ready` is told where it is.

    Runs under way are stopped between two events, and can be resumed.
    """
    tokens = Tokens(home)
    entrance = Entrance(home, tokens)
    rules = Rules(hosts=hosts(place, tokens), rate=place.rate, burst=place.burst)
    listening = _bound(place)
    server: _Server | None = None
    desk = Desk(home, options, lambda: server is not None and server.closing)
    config = uvicorn.Config(
        site(desk, entrance, rules),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # whoever says where a request came from could be anybody
        timeout_graceful_shutdown=_GRACE,
        lifespan="on",
        http="h11",  # the strict reader, also where a faster one is installed
        ws="none",
    )
    server = _Server(config)
    server.on_exit = desk.driving.stop
    left = unfinished(home, desk.store, desk.repositories.all())
    desk.left = left if options.resume else ()
    passing = "" if tokens.all() else tokens.make_passing(Role.ADMIN)
    with listening:
        address = _address(listening)
        link = f"{_called(address, place)}/sign-in?code={entrance.code()}"
        ready(Opened(address=address, token=passing, link=link, left=left))
        server.run(sockets=[listening])


def hosts(place: Place, tokens: Tokens) -> frozenset[str]:
    """The names it may be called by; refuses to listen where others could reach it and nobody has a
    token.
    """
    if is_loopback(place.host):
        return frozenset({*_LOOPBACK, place.host.lower(), *(name.lower() for name in place.names)})
    if not tokens.all():
        raise UsageError(
            f"{place.host}: others could reach the server there, and there is no token yet",
            hint="punchlist serve --new-token admin, then try again; or leave --host out",
        )
    own = () if ip_address_or_none(place.host) in _EVERYWHERE else (place.host.lower(),)
    return frozenset({*own, *(name.lower() for name in place.names)})


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    address = ip_address_or_none(host)
    return address is not None and ip_address(address).is_loopback


def ip_address_or_none(host: str) -> str | None:
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def _bound(place: Place) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            place.host, place.port, type=socket.SOCK_STREAM
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        hint = "another process may be there already: give another --port"
        raise UsageError(
            f"{place.host}:{place.port}: cannot be listened on: {error.strerror or error}",
            hint=hint,
        ) from error
    listening.listen(2048)
    return listening


def _called(address: str, place: Place) -> str:
    """Who listens everywhere is called by a name of theirs."""
    everywhere = ip_address_or_none(place.host) in _EVERYWHERE and place.names
    return f"http://{place.names[0]}:{address.rpartition(':')[2]}" if everywhere else address


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
