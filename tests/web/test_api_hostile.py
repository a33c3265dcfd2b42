"""Every operation of the OpenAPI document against requests that nobody honest sends: a clear no, nothing done, nothing told."""

import json
import socket
from collections.abc import Iterator

import pytest
from msgspec import Struct

pytest.importorskip("litestar")
from reading import ledger

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.web.application import load_openapi
from punchlist.web.schemas import LARGEST_BODY

RUN = "261115-cccccc"
SECRET = "secret-login"
FILLED = {"run_id": RUN, "session_id": RUN, "repository_id": "0123456789abcdef", "number": "1", "name": "a.json", "form": "md", "code": "F001"}  # fmt: skip


class Operation(Struct, frozen=True):
    name: str
    method: str
    path: str
    takes: bool
    """Whether it has a body."""
    open: bool
    """Whether it needs no token."""

    def at(self, **values: str) -> str:
        return self.path.format(**(FILLED | values))

    @property
    def parameters(self) -> list[str]:
        return [name for name in FILLED if f"{{{name}}}" in self.path]


def operations() -> Iterator[Operation]:
    for path, methods in load_openapi()["paths"].items():
        for method, told in methods.items():
            yield Operation(
                told["operationId"],
                method.upper(),
                path,
                "requestBody" in told,
                "security" not in told,
            )


EVERY = list(operations())
TAKING = [operation for operation in EVERY if operation.takes]
FOR_TOKENS = [operation for operation in EVERY if not operation.open]
TRICKS = [
    "..", "%2e%2e", "..%2f..%2ftokens.json", "%2e%2e%2f%2e%2e%2ftokens.json", "..%5c..%5ctokens.json", "%2fetc%2fpasswd", "a%00b",
    "x" * 5000, "%ff%fe", "%f0%9f%92%a5", "a%0d%0ax-injected:%201", "%252e%252e%252ftokens.json", "~root", "last", "*", "%27%20OR%201=1",
]  # fmt: skip
BODIES = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[]",
    b"null",
    b"7",
    b'"text"',
    b"NaN",
    b'{"a":' * 50_000,
    b"{'a': 1}",
    b'{"nobody": 1}{}',
    b"\x00",
]
KINDS = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "nonsense",
]
LIES = [
    {"host": "evil.example"},
    {"host": "127.0.0.1.evil.example:80"},
    {"host": "127.0.0.1@evil.example"},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"authorization": "Bearer pl_wrong"},
    {"authorization": "Basic cmVhZDpyZWFk"},
]


class Answer(Struct, frozen=True):
    status: int
    head: str
    body: str


@pytest.fixture(scope="module")
def kept(house):
    """A server with one run in its ledger, and things beside it that nobody may have."""
    with SqliteStore.open(house.home) as store:
        ledger(store, RUN, str(house.folder / "repo" / ".git"), 3)
    folder = house.home / "runs" / RUN / "agents" / "robot"
    folder.mkdir(parents=True)
    (folder / "login.json").write_text(SECRET)
    return house


@pytest.fixture(autouse=True)
def unchanged(kept):
    """Whatever was sent, nothing was done, and the server is there."""
    before = _state(kept)
    yield
    assert _state(kept) == before
    assert (
        said(
            kept, b"GET /api/health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        ).status
        == 200
    )
    assert "Traceback" not in kept.log.read_text()


def _state(site) -> tuple:
    with SqliteStore.open(site.home, readonly=True) as store:
        runs = [(row.id, row.entries) for row in store.runs()]
    files = sorted(str(path) for path in site.home.rglob("*") if "ledger.sqlite3" not in path.name)
    return (
        runs,
        files,
        [(site.home / name).read_bytes() for name in ("repositories.json", "tokens.json")],
    )


def said(site, raw: bytes) -> Answer:
    """What comes back on a connection of its own, by hand: clients tidy requests up."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as line:
        pieces = []
        try:
            line.sendall(raw)
            pieces += iter(lambda: line.recv(65536), b"")
        except (
            ConnectionResetError,
            BrokenPipeError,
        ):  # it was hung up on while we spoke; what was said before counts
            pieces += _rest(line)
    whole = b"".join(pieces).decode("latin-1")
    assert SECRET not in whole
    assert str(site.home) not in whole
    assert "Traceback" not in whole
    assert "x-injected" not in whole.partition("\r\n\r\n")[0].lower()
    head, _, body = whole.partition("\r\n\r\n")
    return Answer(int(head.split()[1]) if head else 0, head, body)


def _rest(line: socket.socket) -> list[bytes]:
    try:
        return list(iter(lambda: line.recv(65536), b""))
    except ConnectionResetError:
        return []


def request(site, operation: Operation, path: str = "", body: bytes = b"", **headers: str) -> bytes:
    head = {
        "host": "127.0.0.1",
        "authorization": f"Bearer {site.tokens['admin']}",
        "connection": "close",
    }
    head |= (
        {"content-type": "application/json", "content-length": str(len(body))}
        if operation.takes
        else {}
    )
    head |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return (
        f"{operation.method} {path or operation.at()} HTTP/1.1\r\n{lines}\r\n".encode("latin-1")
        + body
    )


def refused(answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer
    problem = json.loads(answer.body)
    assert problem["status"] == answer.status
    assert problem["what"]
    assert problem["next"] or answer.status == 404


@pytest.mark.parametrize(
    "operation", [each for each in EVERY if each.parameters], ids=lambda each: each.name
)
def test_no_name_leads_anywhere_else(kept, operation):
    for parameter in operation.parameters:
        for trick in TRICKS:
            answer = said(kept, request(kept, operation, operation.at(**{parameter: trick}), b"{}"))
            assert answer.status in (400, 404, 405, 409), (parameter, trick, answer)


@pytest.mark.parametrize("operation", TAKING, ids=lambda each: each.name)
def test_bodies_that_are_none_are_refused(kept, operation):
    for body in BODIES:
        refused(said(kept, request(kept, operation, body=body)), 400, 404)


@pytest.mark.parametrize("operation", TAKING, ids=lambda each: each.name)
def test_bodies_of_another_kind_are_refused(kept, operation):
    for kind in KINDS:
        refused(said(kept, request(kept, operation, body=b"{}", content_type=kind)), 415)


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_bodies_that_are_said_to_be_too_large_are_refused_at_once(kept, operation):
    refused(said(kept, request(kept, operation, content_length=str(LARGEST_BODY + 1))), 413)


@pytest.mark.parametrize("operation", TAKING, ids=lambda each: each.name)
def test_bodies_that_turn_out_too_large_are_refused(kept, operation):
    raw = request(kept, operation, transfer_encoding="chunked").replace(
        b"content-length: 0\r\n", b""
    )
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    refused(said(kept, raw + piece * (LARGEST_BODY // 0x10000 + 2) + b"0\r\n\r\n"), 413)


@pytest.mark.parametrize("operation", FOR_TOKENS, ids=lambda each: each.name)
def test_requests_under_another_name_or_from_elsewhere_are_refused(kept, operation):
    for lie in LIES:
        refused(
            said(kept, request(kept, operation, body=b"{}" if operation.takes else b"", **lie)),
            401,
            403,
            421,
        )


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_what_could_be_read_as_two_requests_is_read_as_none(kept, operation):
    """A second request that begins where the first one's body might end must not be answered."""
    inner = request(
        kept, next(each for each in EVERY if each.name == "start_run"), body=b"{}"
    ).decode("latin-1")
    body = f"0\r\n\r\n{inner}"
    token = f"host: 127.0.0.1\r\nauthorization: Bearer {kept.tokens['admin']}\r\ncontent-type: application/json\r\n"
    start = f"{operation.method} {operation.at()} HTTP/1.1\r\n{token}"
    for framing in (
        f"content-length: 0\r\ncontent-length: {len(body)}\r\n",
        f"content-length: {len(body)}, 0\r\n",
        f"content-length: {len(body)}\r\ntransfer-encoding: chunked\r\n",
        "transfer-encoding: xchunked\r\n",
        "transfer-encoding: chunked, identity\r\n",
        "content-length: -1\r\n",
        "content-length: 0x10\r\n",
        f"content-length : {len(body)}\r\n",
        f"x: y\r\n\tcontent-length: {len(body)}\r\n  z\0\r\n",
    ):
        answer = said(kept, f"{start}{framing}\r\n{body}".encode("latin-1"))
        assert answer.status in (400, 413, 501), (framing, answer)
        assert answer.body.count("HTTP/1.1") == 0, "one answer at most"


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_floods_of_headers_are_refused(kept, operation):
    start = request(kept, operation, body=b"{}" if operation.takes else b"").partition(b"\r\n\r\n")[
        0
    ]
    for flood in (b"\r\nx: " + b"y" * 200_000, b"".join(b"\r\nx%d: y" % n for n in range(20_000))):
        answer = said(kept, start + flood + b"\r\n\r\n")
        assert answer.status in (0, 400, 431), answer


@pytest.mark.parametrize("operation", EVERY, ids=lambda each: each.name)
def test_other_methods_are_refused(kept, operation):
    there = {each.method for each in EVERY if each.path == operation.path}
    for method in sorted(
        {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "PROPFIND"} - there
    ):
        raw = request(kept, operation).replace(operation.method.encode(), method.encode(), 1)
        assert said(kept, raw).status in (400, 404, 405), method


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\nconnection: close\r\n\r\n",
        b"GET /api/runs\r\nconnection: close\r\n\r\n",
        b"GET /api/runs HTTP/9.9\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET http://evil.example/api/runs HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nconnection: close\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"GET /api/runs HTTP/1.1\r\nhost: localhost\r\nbad name: x\r\nconnection: close\r\n\r\n",
        b"GET /api/runs\0 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=str,
)
def test_what_is_no_request_is_refused(kept, raw):
    assert said(kept, raw).status in (400, 401, 421, 505)
