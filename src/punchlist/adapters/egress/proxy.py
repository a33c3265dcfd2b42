"""The proxy of one child: CONNECT and plain requests to listed hosts, and requests to its model.

Each connection carries one request or one tunnel. What is not allowed is answered with 403 (or, in
a tunnel, by closing it) and counted in the log.
"""

import asyncio
import re
import socket
import struct
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import count
from typing import cast

from punchlist.adapters.egress.addresses import parse_address
from punchlist.adapters.egress.client_hello import HANDSHAKE, read_client_hello, server_name
from punchlist.adapters.egress.http_head import (
    HEAD_LIMIT,
    MessageHead,
    Refused,
    format_head,
    parse_request,
    parse_response,
)
from punchlist.adapters.egress.model_requests import (
    check_method,
    find_route,
    model_fields,
    model_path,
)
from punchlist.adapters.egress.model_usage import MeteredCall, ModelMeter, SpendingRefused
from punchlist.adapters.egress.policy import (
    HTTP,
    HTTPS,
    OWN_TARGET,
    EgressPolicy,
    format_target,
    is_name,
)
from punchlist.adapters.egress.relay import Relay
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.egress.upstream import Resolve, Streams, Upstream, resolve_name

_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:/?#@]+):([0-9]{1,5})")
_ABSOLUTE = re.compile(r"http://(\[[0-9a-fA-F:.]+\]|[^\[\]:/?#@]+)(?::([0-9]{1,5}))?([/?][^#]*)?")
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_FULL = b"HTTP/1.1 503 Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_SWITCHING = 101
_FINAL = 200
_NO_LINGER = struct.pack("ii", 1, 0)
_LINGER = 1.0
"""Seconds in which the rest of a refused request is read, so that its sender reads the answer."""


@dataclass(frozen=True)
class ProxyLimits:
    """Seconds for a head, for connecting, and between two pieces; connections at once."""

    head: float = 15
    dial: float = 20
    idle: float = 900
    connections: int = 64


USUAL_LIMITS = ProxyLimits()


class EgressProxy:
    """Serves the connections of one child, which are known by the socket they come from."""

    def __init__(
        self,
        policy: EgressPolicy,
        log: EgressLog,
        limits: ProxyLimits = USUAL_LIMITS,
        resolve: Resolve = resolve_name,
        meter: ModelMeter | None = None,
    ) -> None:
        self._policy = policy
        self._log = log
        self._limits = limits
        self._upstream = Upstream(policy, limits.dial, resolve)
        self._meter = meter
        self._numbers = count()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def listen(self, door: socket.socket) -> None:
        """Accept the child's connections on a socket that listens in its network namespace."""
        door.settimeout(0)
        self._server = await asyncio.start_server(self._accept, sock=door, limit=HEAD_LIMIT)

    async def close(self) -> None:
        """End all connections."""
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        if len(self._tasks) >= self._limits.connections:
            self._log.count_refusal("", "too many connections")
            writer.write(_FULL)  # without waiting: a flood must not use up our descriptors
            writer.close()
            return
        self._tasks.add(task)
        connection = _Connection(self, reader, writer)
        try:
            await self._serve(connection)
        except asyncio.CancelledError:
            pass  # asyncio would log a cancelled connection as an error
        finally:
            self._tasks.discard(task)
            connection.close()

    async def _serve(self, connection: "_Connection") -> None:
        try:
            await connection.serve_request()
        except Refused as refused:
            if refused.recorded:
                self._log.count_refusal(connection.target, refused.why)
            if refused.status:
                await connection.answer(refused)
        except TimeoutError:
            await connection.answer(Refused("timed out", 408))
        except asyncio.LimitOverrunError:
            self._log.count_refusal(connection.target, "header too long")
            await connection.answer(Refused("header too long", 431))
        except (asyncio.IncompleteReadError, OSError):
            connection.reset()  # one of the two ends has closed the connection

    def start_relays(
        self, connection: "_Connection", streams: Streams, target: str
    ) -> tuple[Relay, Relay]:
        """Return what passes bytes on to the host, and back."""
        traffic = self._log.count_connection(target)

        def count_sent(size: int) -> None:
            traffic.sent += size

        def count_received(size: int) -> None:
            traffic.received += size

        idle = self._limits.idle
        up = Relay(connection.reader, streams[1], idle, count_sent)
        return up, Relay(streams[0], connection.writer, idle, count_received)

    def begin_model_call(self) -> MeteredCall:
        """Return what counts a request to the model; raise SpendingRefused at the limit.

        Calls that have begun go on, so what is spent beyond the limit is at most the answers that
        were under way when it was reached.
        """
        if self._meter and (why := self._meter.check_request()):
            raise SpendingRefused(why)
        return MeteredCall(self._meter, next(self._numbers))

    @property
    def policy(self) -> EgressPolicy:
        return self._policy

    @property
    def limits(self) -> ProxyLimits:
        return self._limits

    @property
    def upstream(self) -> Upstream:
        return self._upstream


class _Connection:
    """One connection of the child."""

    def __init__(
        self, proxy: EgressProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.target = ""
        self.answered = False
        """Whether a part of an answer was sent: then nothing else can be said."""
        self._proxy = proxy
        self._streams: Streams | None = None

    def close(self) -> None:
        for writer in (self.writer, self._streams[1] if self._streams else None):
            if writer:
                writer.close()

    def reset(self) -> None:
        """End an answer that was cut off so that it does not look complete."""
        sock = self.writer.get_extra_info("socket")
        if self.answered and sock is not None and not self.writer.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            self.writer.transport.abort()

    async def answer(self, refused: Refused) -> None:
        if self.answered:
            self.reset()
            return
        body = refused.format_body(self.target)
        fields = (
            ("Content-Type", refused.content_type),
            ("Content-Length", str(len(body))),
            *refused.fields,
            ("Connection", "close"),
        )
        first = f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}"
        with suppress(OSError):
            await self._write(format_head(first, fields) + body)
            self.writer.write_eof()
            async with asyncio.timeout(_LINGER):
                while await self.reader.read(HEAD_LIMIT):
                    pass

    async def serve_request(self) -> None:
        async with asyncio.timeout(self._proxy.limits.head):
            head = await self.reader.readuntil(b"\r\n\r\n")
        request = parse_request(head)
        if request.method == "CONNECT":
            await self._tunnel(request)
        elif request.target.startswith("/"):
            await self._ask_model(request)
        else:
            await self._forward(request)

    async def _tunnel(self, request: MessageHead) -> None:
        found = _AUTHORITY.fullmatch(request.target)
        if found is None or request.is_chunked or request.length:
            raise Refused("malformed request", 400)
        host, port = self._set_target(found[1], found[2])
        if self.target == OWN_TARGET:  # of a program that asks its proxy for the proxy itself
            await self._write(_ESTABLISHED)
            await self.serve_request()
            return
        self._streams = await self._proxy.upstream.connect(host, port)
        await self._write(_ESTABLISHED)
        self.answered = True
        up, down = self._proxy.start_relays(self, self._streams, self.target)

        async def send_up() -> None:
            await up.send(await self._read_opening(host, port))
            await up.copy_all()

        await _run_both(send_up(), down.copy_all())

    async def _read_opening(self, host: str, port: int) -> bytes:
        """Return the first bytes of a tunnel. Those of TLS must name the host that was asked for,
        and to port 443 there is nothing but TLS.
        """
        idle, head = self._proxy.limits.idle, self._proxy.limits.head
        async with asyncio.timeout(head if port == HTTPS else idle):
            first = await self.reader.read(1)
        if first != bytes([HANDSHAKE]):
            if port == HTTPS and first:
                raise Refused("not a TLS connection", 0)
            return first
        async with asyncio.timeout(head):
            hello = await read_client_hello(self.reader, first)
        name = server_name(hello)
        if name != host and (name or parse_address(host) is None):
            shown = name if is_name(name) else "malformed" if name else "missing"
            raise Refused(f"the TLS name is {shown}", 0)
        return hello

    async def _forward(self, request: MessageHead) -> None:
        """Pass on a plain request that names another host."""
        found = _ABSOLUTE.fullmatch(request.target)
        if found is None:
            raise Refused("not a request to a proxy", 400)
        host, port = self._set_target(found[1], found[2] or str(HTTP))
        named = self.target if port != HTTP else self.target.rpartition(":")[0]
        if (request.find("host") or "").lower() not in (named, self.target):
            raise Refused("the request names two hosts", 400)
        if self.target == OWN_TARGET:
            await self._ask_model(replace(request, target=found[3] or "/"))
            return
        self._streams = streams = await self._proxy.upstream.connect(host, port)
        fields = [field for field in request.end_to_end_fields() if field[0].lower() != "host"]
        first = f"{request.method} {found[3] or '/'} HTTP/1.1"
        fields = [("Host", named), *fields]
        await self._exchange(streams, request, first, fields, MeteredCall())

    async def _ask_model(self, request: MessageHead) -> None:
        """Pass on a request to the model's service, with its key in the place of a placeholder."""
        route = find_route(self._proxy.policy.routes, request.target)
        base = route.base
        self.target = format_target(base.host, base.port)
        check_method(route, request.method)
        call = self._proxy.begin_model_call()
        path, fields = model_path(route, request.target), model_fields(route, request)
        self._streams = streams = await self._proxy.upstream.connect_model(base)
        await self._exchange(streams, request, f"{request.method} {path} HTTP/1.1", fields, call)

    async def _exchange(
        self,
        streams: Streams,
        request: MessageHead,
        first: str,
        fields: list[tuple[str, str]],
        call: MeteredCall,
    ) -> None:
        up, down = self._proxy.start_relays(self, streams, self.target)
        await up.send(format_head(first, [*fields, ("Connection", "close")]))
        if (request.find("expect") or "").lower() == "100-continue":
            await self._write(_CONTINUE)

        async def send_body() -> None:
            with suppress(ConnectionError):  # a service may answer before it has read all
                await up.copy_body(request, call.show_request)

        try:
            passing = self._pass_answer(streams[0], request, down, call)
            await _run_both(passing, send_body(), until_first=True)
        finally:
            call.end()

    async def _pass_answer(
        self, source: asyncio.StreamReader, request: MessageHead, down: Relay, call: MeteredCall
    ) -> None:
        status = 0
        while status < _FINAL:
            async with asyncio.timeout(self._proxy.limits.idle):
                head = await source.readuntil(b"\r\n\r\n")
            answer = parse_response(head)
            status = answer.status
            if status == _SWITCHING:
                raise Refused("the answer changes the protocol", 502)
        self.answered = True
        first = head.partition(b"\r\n")[0].decode("latin-1")
        fields = [*answer.end_to_end_fields(), ("Connection", "close")]
        await down.send(format_head(first, fields))
        if answer.has_body(request.method):
            call.begin_answer(answer)
            await down.copy_body(answer, call.show_answer)
        call.complete = True

    async def _write(self, data: bytes) -> None:
        async with asyncio.timeout(self._proxy.limits.head):
            self.writer.write(data)
            await self.writer.drain()

    def _set_target(self, host: str, port: str) -> tuple[str, int]:
        """Return the host, in its usual form, and the port."""
        number = int(port)
        if not 0 < number < 1 << 16:
            raise Refused("not a port", 400)
        address = parse_address(host)
        name = str(address) if address else host.lower().rstrip(".")
        if not address and not is_name(name):
            raise Refused("not a host name", 400)
        self.target = format_target(name, number)
        return name, number


async def _run_both(
    first: Coroutine[object, object, None],
    second: Coroutine[object, object, None],
    *,
    until_first: bool = False,
) -> None:
    """Run two jobs until both are done, the first one is (`until_first`), or one fails."""
    tasks = [asyncio.create_task(job) for job in (first, second)]
    try:
        await asyncio.wait(
            tasks,
            return_when=asyncio.FIRST_EXCEPTION if not until_first else asyncio.FIRST_COMPLETED,
        )
        for task in tasks:
            if task.done():
                task.result()
        if until_first:
            await tasks[0]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
