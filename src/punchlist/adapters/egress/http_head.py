"""Parse heads of HTTP messages strictly: what two parsers could read in two ways is refused."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

HEAD_LIMIT = 64 << 10
_MOST_FIELDS = 200
_REQUEST = re.compile(rb"([A-Z]{3,16}) ([\x21-\x7e]{1,16000}) HTTP/1\.([01])")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\x20-\x7e\x80-\xff\t]*)?")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e\x80-\xff \t]*)")
_LENGTH = re.compile(r"[0-9]{1,15}")
_SINGLE = ("host", "content-length", "transfer-encoding")
_HOP = frozenset(
    "connection keep-alive proxy-connection proxy-authorization proxy-authenticate te trailer"
    " upgrade http2-settings expect".split()
)
_NO_BODY = frozenset({204, 304})


class Refused(Exception):
    """The proxy does not do what it was asked; `status` 0 closes the connection without a word."""

    def __init__(self, why: str, status: int = 403, *, recorded: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.status = status
        self.recorded = recorded

    content_type = "text/plain"
    fields: tuple[tuple[str, str], ...] = ()
    """Header fields of the answer that are not usual."""

    def format_body(self, target: str) -> bytes:
        return f"punchlist: {target or 'this request'} is refused: {self.why}\n".encode()


@dataclass(frozen=True)
class MessageHead:
    """A request line (method, target) or a status, and the fields in their order."""

    method: str
    target: str
    status: int
    fields: tuple[tuple[str, str], ...]

    def find(self, name: str) -> str | None:
        return next((value for key, value in self.fields if key.lower() == name), None)

    @property
    def length(self) -> int | None:
        """The length of the body in bytes; None if it is chunked or, in an answer, not said."""
        if self.find("transfer-encoding") is not None:
            return None
        length = self.find("content-length")
        if length is None:
            return 0 if self.method else None
        return int(length)

    @property
    def is_chunked(self) -> bool:
        return self.find("transfer-encoding") is not None

    def end_to_end_fields(self) -> list[tuple[str, str]]:
        """Return the fields without those that are for this connection only."""
        named = {name.strip().lower() for name in (self.find("connection") or "").split(",")}
        drop = (_HOP | named) - {"content-length", "transfer-encoding", "host"}
        return [(key, value) for key, value in self.fields if key.lower() not in drop]

    def has_body(self, method: str) -> bool:
        """Return whether an answer to this method has a body."""
        return method != "HEAD" and self.status not in _NO_BODY


def parse_request(head: bytes) -> MessageHead:
    """Parse a request up to its empty line; raise Refused if it is malformed or ambiguous."""
    first, fields = _split_head(head)
    line = _REQUEST.fullmatch(first)
    if line is None:
        raise Refused("malformed request", 400)
    request = MessageHead(line[1].decode(), line[2].decode(), 0, fields)
    _check_framing(request)
    if line[3] == b"0" and request.is_chunked:
        raise Refused("ambiguous request", 400)
    if line[3] == b"1" and request.find("host") is None:
        raise Refused("request without a host", 400)
    return request


def parse_response(head: bytes) -> MessageHead:
    first, fields = _split_head(head)
    line = _STATUS.fullmatch(first)
    if line is None:
        raise Refused("malformed answer", 502)
    response = MessageHead("", "", int(line[1]), fields)
    _check_framing(response)
    return response


def format_head(first: str, fields: Sequence[tuple[str, str]]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _split_head(head: bytes) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    first, *rest = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    found = [_FIELD.fullmatch(line) for line in rest]
    if len(rest) > _MOST_FIELDS:
        raise Refused("too many header fields", 431)
    fields = [(each[1].decode(), each[2].decode("latin-1").rstrip()) for each in found if each]
    if len(fields) < len(rest):
        raise Refused("malformed request", 400)
    return first, tuple(fields)


def _check_framing(message: MessageHead) -> None:
    """Raise Refused unless the message has one body of one certain length."""
    names = [name.lower() for name, _ in message.fields]
    coding, length = message.find("transfer-encoding"), message.find("content-length")
    if (
        any(names.count(name) > 1 for name in _SINGLE)
        or (coding is not None and length is not None)
        or (coding is not None and coding.lower() != "chunked")
        or (length is not None and not _LENGTH.fullmatch(length))
    ):
        raise Refused("ambiguous request" if message.method else "ambiguous answer", 400)
