"""Real servers on loopback that stand for the internet, and a proxy in front of them."""

import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache
from ipaddress import ip_address
from pathlib import Path

from punchlist.adapters.egress.model_usage import ModelMeter
from punchlist.adapters.egress.policy import EgressPolicy, parse_rule
from punchlist.adapters.egress.proxy import USUAL_LIMITS, EgressProxy, ProxyLimits
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.egress.upstream import resolve_name

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Outside:
    """A proxy that listens, its log, and a server that keeps what it receives."""

    def __init__(self, door: int, port: int, log: EgressLog, received: list[bytes]) -> None:
        self.door, self.port, self.log, self.received = door, port, log, received

    @property
    def refused(self) -> list[tuple[str, str]]:
        return [(each.target, each.why) for each in self.log.refused]

    async def open(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self.door)

    async def ask(self, request: bytes | str, *, end: bool = False) -> bytes:
        """All that is answered to these bytes until the proxy closes the connection."""
        reader, writer = await self.open()
        writer.write(request.encode("latin-1") if isinstance(request, str) else request)
        if end:
            writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer


def named(*addresses: str) -> Callable[[str, int], Awaitable[list]]:
    """A resolver that answers with these addresses."""

    async def resolve(host: str, port: int) -> list:
        return [ip_address(address) for address in addresses]

    return resolve


@asynccontextmanager
async def outside(
    *allow: str,
    limits: ProxyLimits = USUAL_LIMITS,
    resolve=resolve_name,
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    policy: Callable[[int], EgressPolicy] | None = None,
    meter: ModelMeter | None = None,
) -> AsyncIterator[Outside]:
    """Allow these hosts; {port} in them is that of the server, which gives `answer` to each head."""
    received: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(b"")
        at = len(received) - 1
        answered = False
        while data := await reader.read(65536):
            received[at] += data
            if b"\r\n\r\n" in received[at] and not answered:
                answered = True
                writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = tuple(parse_rule(text.format(port=port)) for text in allow)
    log = EgressLog()
    allowed = policy(port) if policy else EgressPolicy(rules)
    proxy = EgressProxy(allowed, log, limits, resolve, meter)
    door = socket.create_server(("127.0.0.1", 0))
    await proxy.listen(door)
    try:
        yield Outside(door.getsockname()[1], port, log, received)
    finally:
        await proxy.close()
        server.close()


@cache
def certificate(folder: Path, *names: str) -> tuple[Path, Path]:
    """A certificate for these names that signs itself, and its key; made with openssl."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    listed = ",".join(
        f"IP:{name}" if name.replace(".", "").isdigit() else f"DNS:{name}" for name in names
    )
    command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout {key} -out {made} -subj /CN=test -addext subjectAltName={listed}"
    subprocess.run(command.split(), check=True, capture_output=True)
    return made, key


def client_hello(name: str = "", *, strange: bytes = b"") -> bytes:
    """A ClientHello as OpenSSL writes it; `strange` extensions are put behind its own."""
    context = ssl.create_default_context()
    context.check_hostname = False
    taken, written = ssl.MemoryBIO(), ssl.MemoryBIO()
    with suppress(ssl.SSLWantReadError):
        context.wrap_bio(taken, written, server_hostname=name or None).do_handshake()
    hello = written.read()
    return append_extension(hello, strange) if strange else hello


def append_extension(hello: bytes, extension: bytes) -> bytes:
    body = hello[9:]
    at = 34 + 1 + body[34]
    at += 2 + int.from_bytes(body[at : at + 2], "big")
    at += 1 + body[at]
    size = int.from_bytes(body[at : at + 2], "big") + len(extension)
    body = body[:at] + size.to_bytes(2, "big") + body[at + 2 :] + extension
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return hello[:3] + len(message).to_bytes(2, "big") + message
