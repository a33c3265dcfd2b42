"""Connect to hosts outside: resolve a name once, check where it leads, then dial that address."""

import asyncio
import base64
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from punchlist.adapters.egress.addresses import Address, is_inner, is_metadata, parse_address
from punchlist.adapters.egress.http_head import HEAD_LIMIT, Refused, parse_response
from punchlist.adapters.egress.policy import BaseUrl, EgressPolicy, HostRule, format_target
from punchlist.adapters.folders.look import is_file

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]
NOT_LISTED = "not listed"


async def resolve_name(host: str, port: int) -> list[Address]:
    """Return the addresses of a name, in the system's order."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = (parse_address(str(each[4][0])) for each in found)
    return list(dict.fromkeys(address for address in addresses if address is not None))


class Upstream:
    """Connects to what a policy allows, within `seconds`."""

    def __init__(
        self, policy: EgressPolicy, seconds: float, resolve: Resolve = resolve_name
    ) -> None:
        self._policy = policy
        self._seconds = seconds
        self._resolve = resolve

    async def connect(self, host: str, port: int) -> Streams:
        """Connect to a host that the child asked for; raise Refused if it is not listed."""
        rules = self._policy.find_rules(host, port)
        if not rules:
            raise Refused(NOT_LISTED)
        return await self._connect(host, port, rules)

    async def connect_model(self, base: BaseUrl) -> Streams:
        """Connect to a model's service, with TLS if its URL says so."""
        reader, writer = await self._connect(base.host, base.port, [base.rule])
        if base.scheme == "https":
            context = make_tls_context(self._policy.authorities)
            try:
                await writer.start_tls(
                    context, server_hostname=base.host, ssl_handshake_timeout=self._seconds
                )
            except OSError as error:
                writer.close()
                raise Refused(f"no TLS: {error}", 502, recorded=False) from error
        return reader, writer

    async def _connect(self, host: str, port: int, rules: Sequence[HostRule]) -> Streams:
        try:
            async with asyncio.timeout(self._seconds):
                if self._policy.proxy and not self._is_direct(host):
                    return await _connect_by_proxy(self._policy.proxy, host, port)
                addresses = await self._find_addresses(host, port, rules)
                return await _dial_first(addresses, port)
        except OSError as error:
            why = f"cannot be reached: {str(error) or 'timed out'}"
            raise Refused(why, 502, recorded=False) from error

    async def _find_addresses(
        self, host: str, port: int, rules: Sequence[HostRule]
    ) -> Sequence[Address]:
        literal = parse_address(host)
        if literal is not None:
            return [literal]  # listed as this very address, or a base URL of the user's own
        found = await self._resolve(host, port)
        for address in found:
            listed = self._policy.find_rules(str(address), port)
            if is_metadata(address) and not listed:
                raise Refused("its name leads to a metadata service or link-local address")
            if is_inner(address) and not self._policy.allows_inside(address, port, rules):
                raise Refused(f"its name leads to the inner address {address}")
        return found

    def _is_direct(self, host: str) -> bool:
        """Return whether NO_PROXY names the host; loopback is always direct."""
        address = parse_address(host)
        if host == "localhost" or (address is not None and address.is_loopback):
            return True
        names = [name.lstrip("*").lstrip(".").lower() for name in self._policy.direct]
        return any(not name or host == name or host.endswith(f".{name}") for name in names)


async def _dial_first(addresses: Sequence[Address], port: int) -> Streams:
    """Connect to the first address that answers."""
    error: OSError = OSError("no address")
    for address in addresses:
        try:
            return await asyncio.open_connection(str(address), port, limit=HEAD_LIMIT)
        except OSError as failed:
            error = failed
    raise error


async def _connect_by_proxy(proxy: str, host: str, port: int) -> Streams:
    """Connect through the user's own HTTP proxy, which resolves the name."""
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if parts.scheme != "http" or not parts.hostname:
        raise Refused("the user's proxy is none for HTTP", 502, recorded=False)
    reader, writer = await asyncio.open_connection(
        parts.hostname, parts.port or 80, limit=HEAD_LIMIT
    )
    target, login = format_target(host, port), ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        login = f"Proxy-Authorization: Basic {base64.b64encode(pair.encode()).decode()}\r\n"
    writer.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n".encode())
    try:
        status = parse_response(await reader.readuntil(b"\r\n\r\n")).status
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        status = 0
    if status != 200:
        writer.close()
        raise Refused(f"the user's proxy refuses it ({status})", 502, recorded=False)
    return reader, writer


@cache
def make_tls_context(authorities: tuple[str, ...]) -> ssl.SSLContext:
    """Return a context that trusts the system's authorities and those of the user."""
    context = ssl.create_default_context()
    for file in authorities:
        with suppress(OSError, ssl.SSLError):
            if is_file(Path(file)):
                context.load_verify_locations(file)
    return context
