"""What clients that stay half open, drip, do not read or come in crowds cost the server: little, and others nothing."""

import resource
import select
import socket
import time

import pytest

pytest.importorskip("litestar")
from sites import QUICK, Site
from workbench import review

HALF = b"GET /api/health HTTP/1.1\r\nhost: 127.0.0.1\r\n"


OPENED: list[socket.socket] = []


@pytest.fixture(autouse=True)
def closed_afterwards(site):
    yield
    while OPENED:
        OPENED.pop().close()


def limits(**values: float) -> tuple[str, ...]:
    return tuple(
        part for name, value in values.items() for part in ("--set", f"serve.{name}={value}")
    )


def connect(site: Site, sent: bytes = b"") -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    OPENED.append(opened)
    opened.sendall(sent)
    return opened


def rest(opened: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    got = b""
    try:
        while piece := opened.recv(65536):
            got += piece
    except ConnectionResetError:
        pass
    return got


@pytest.mark.parametrize("sent", [b"", b"GET", HALF])
def test_headers_that_do_not_come_end_the_connection(site, sent):
    site.start(*QUICK, *limits(headers=0.2))
    assert rest(connect(site, sent)).startswith(b"HTTP/1.1 408") or sent == b""


def test_headers_that_drip_in_do_not_prolong_their_time(site):
    site.start(*QUICK, *limits(headers=0.5))
    opened = connect(site, HALF)
    closed = False
    until = time.monotonic() + 20
    while not closed and time.monotonic() < until:
        readable, _, _ = select.select([opened], [], [], 0.05)
        try:
            closed = bool(readable) and not opened.recv(1000)
            opened.sendall(b"x-more: 1\r\n")
        except OSError:
            closed = True
    assert closed


def test_the_second_request_of_a_connection_has_the_same_time(site):
    site.start(*QUICK, *limits(headers=0.2, idle=20))
    opened = connect(site, HALF + b"\r\n")
    assert b"200" in opened.recv(65536).split(b"\r\n")[0]
    opened.sendall(HALF)
    assert b"408" in rest(opened)


def test_a_body_that_does_not_come_ends_the_connection(site):
    site.start(*QUICK, *limits(body=0.2))
    head = f"authorization: Bearer {site.tokens['admin']}\r\ncontent-type: application/json\r\n"
    opened = connect(
        site,
        b"POST /api/repositories HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        + head.encode()
        + b'content-length: 100\r\n\r\n{"',
    )
    rest(opened)


def test_an_idle_connection_is_closed(site):
    site.start(*QUICK, *limits(idle=0.2))
    opened = connect(site, HALF + b"\r\n")
    assert rest(opened).startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_is_not_waited_for(site):
    """The document is far larger than what the sockets hold."""
    site.start(*QUICK, *limits(unread=0.3, idle=20))
    opened = socket.socket()
    OPENED.append(opened)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    opened.settimeout(30)
    opened.connect(("127.0.0.1", site.port))
    head = f"GET /api/openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {site.tokens['read']}\r\n\r\n"
    opened.sendall(head.encode() * 200)
    poller = select.poll()
    poller.register(opened, select.POLLHUP | select.POLLERR)
    assert poller.poll(20_000), "the server still waits"


def test_many_half_open_connections_stop_nobody_and_fill_no_log(site):
    """With 256 descriptors, as an ordinary shell may have them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        site.start(*QUICK, *limits(headers=30))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    resource.prlimit(site.pid, resource.RLIMIT_NOFILE, (256, hard))
    before = site.log.stat().st_size
    crowd = [connect(site, HALF) for _ in range(300)]
    crowd += [connect(site, b"nonsense\r\n\r\n") for _ in range(50)]
    with site.client() as client:
        for _ in range(20):
            assert client.get("/api/health").status_code == 200
    assert site.log.stat().st_size - before < 10_000
    assert len(crowd) == 350


def test_as_many_busy_connections_as_may_be_leave_none_for_more(site):
    site.start(*QUICK, *limits(connections=8, waiting=4, body=20))
    begun = (
        b"POST /api/repositories HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100\r\n"
        + f"authorization: Bearer {site.tokens['admin']}\r\n\r\n".encode()
    )
    busy = []
    answer = b""
    for _ in range(40):
        busy.append(connect(site, begun))
        readable, _, _ = select.select([busy[-1]], [], [], 0.2)
        if readable:
            answer = busy[-1].recv(1000)
            break
    assert answer.startswith(b"HTTP/1.1 503"), answer
    assert b"retry-after: 5" in answer
    assert len(busy) >= 8


def test_a_session_that_was_signed_out_opens_nothing_any_more(site):
    site.start()
    with site.client("") as browser:
        page = {"origin": site.address}
        browser.post("/sign-in", data={"token": site.tokens["read"]}, headers=page)
        copied = dict(browser.cookies)
        browser.post("/sign-in", data={"token": site.tokens["read"]}, headers=page)
        other = dict(browser.cookies)
        browser.cookies.clear()
        browser.cookies.update(copied)
        assert browser.get("/session").headers["x-signed-in"] == "yes"
        browser.post("/sign-out", headers=page)
    for _ in range(2):
        with site.client("", cookies=copied) as thief:
            assert thief.get("/session").headers["x-signed-in"] == "no"
        with site.client("", cookies=other) as browser:
            assert browser.get("/session").headers["x-signed-in"] == "yes"
        site.end()
        site.start()


def test_more_runs_than_may_be_at_once_are_refused_and_told_when_to_come_again(bench, site):
    bench.play({**review("mean"), "seconds": 300})
    site.start(*limits(runs=1))
    repository = site.register(bench.repo.root)
    with site.client("run") as client:
        first = client.post(
            "/api/runs", json={"repository_id": repository, "workflow": "accountable"}
        )
        assert first.status_code in (201, 202), first.text
        second = client.post("/api/runs", json={"repository_id": repository, "workflow": "review"})
        assert second.status_code == 429, second.text
        assert int(second.headers["retry-after"]) > 0
        assert "serve.runs" in second.json()["what"]
        client.post(f"/api/runs/{first.json()['id']}/cancel")
        third = client.post("/api/runs", json={"repository_id": repository, "workflow": "review"})
        assert third.status_code in (201, 202), third.text
