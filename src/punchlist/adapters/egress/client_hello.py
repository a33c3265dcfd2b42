"""Read the server name from the first bytes of a TLS connection, without decrypting anything."""

import asyncio
import struct
from collections.abc import Iterator

from punchlist.adapters.egress.http_head import Refused

HANDSHAKE = 22
_CLIENT_HELLO = 1
_LONGEST = 64 << 10
_RECORD = 1 << 14
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D
_HOST_NAME = 0


async def read_client_hello(reader: asyncio.StreamReader, first: bytes) -> bytes:
    """Return all records that the ClientHello is in, `first` with them; raise Refused if it is
    none.
    """
    received, message = first, b""
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4]):
        header = await reader.readexactly(5 - len(first))
        received, header, first = received + header, first + header, b""
        size = int.from_bytes(header[3:5])
        if header[0] != HANDSHAKE or not 0 < size <= _RECORD or len(message) > _LONGEST:
            raise Refused("not a TLS connection", 0)
        record = await reader.readexactly(size)
        received, message = received + record, message + record
        if message[0] != _CLIENT_HELLO:
            raise Refused("not a TLS connection", 0)
    return received


def server_name(records: bytes) -> str:
    """Return the name that a ClientHello asks for, '' for none. Raise Refused if it is malformed,
    names several, or encrypts the name.
    """
    try:
        extensions = list(_read_extensions(_join_records(records)))
        kinds = [kind for kind, _ in extensions]
        if len(set(kinds)) < len(kinds):
            raise Refused("malformed TLS hello", 0)
        if _ENCRYPTED_HELLO in kinds:
            raise Refused("the TLS name is encrypted", 0)
        named = next((content for kind, content in extensions if kind == _SERVER_NAME), None)
        return "" if named is None else _parse_name(named)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise Refused("malformed TLS hello", 0) from None


def _join_records(records: bytes) -> bytes:
    message, at = b"", 0
    while at < len(records):
        size = int.from_bytes(records[at + 3 : at + 5])
        message, at = message + records[at + 5 : at + 5 + size], at + 5 + size
    return message[4 : 4 + int.from_bytes(message[1:4])]


def _read_extensions(hello: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and content of each extension; raise Refused if the lengths do not fit."""
    at = 34 + 1 + hello[34]  # version, random, session
    at += 2 + struct.unpack_from(">H", hello, at)[0]  # ciphers
    at += 1 + hello[at]  # compressions
    if at == len(hello):
        return
    end = at + 2 + struct.unpack_from(">H", hello, at)[0]
    at += 2
    while at < end:
        kind, size = struct.unpack_from(">HH", hello, at)
        yield kind, hello[at + 4 : at + 4 + size]
        at += 4 + size
    if at != end or end != len(hello):
        raise Refused("malformed TLS hello", 0)


def _parse_name(content: bytes) -> str:
    total, kind, size = struct.unpack_from(">HBH", content)
    if kind != _HOST_NAME or total != size + 3 or len(content) != total + 2:
        raise Refused("malformed TLS hello", 0)
    return content[5:].decode("ascii").lower()
