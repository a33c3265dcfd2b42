"""The egress proxy, with real sockets: what passes, what does not, and what is told of it."""

import asyncio
import re
import socket
import struct
from pathlib import Path

import pytest
from outside import append_extension, client_hello, named, outside

from punchlist.adapters.egress.policy import EgressPolicy, HostRule
from punchlist.adapters.egress.proxy import ProxyLimits

NAME = "model.example"


def get(target: str, host: str, more: str = "", method: str = "GET") -> str:
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"


def connect(target: str) -> str:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n"


def asked(request, *allow, resolve=None, end=False, **options):
    """The answer to a request (with {port}), and the world it was asked in."""

    async def ask():
        more = {"resolve": resolve} if resolve else {}
        async with outside(*allow, **more, **options) as world:
            text = (
                request.replace("{port}", str(world.port))
                if isinstance(request, str)
                else request(world.port)
            )
            return await world.ask(text, end=end), world

    return asyncio.run(ask())


@pytest.fixture
def tls_port(monkeypatch):
    """Lets the proxy take the server's own port for 443, which a test may not listen on."""

    def set_port(port: int) -> None:
        monkeypatch.setattr("punchlist.adapters.egress.proxy.HTTPS", port)

    return set_port


def test_a_listed_host_is_reached_by_a_plain_request_and_its_bytes_are_counted():
    answer, world = asked(
        get("http://127.0.0.1:{port}/a?b", "127.0.0.1:{port}"), "127.0.0.1:{port}"
    )
    assert answer.endswith(b"\r\n\r\nhello")
    assert b"Connection: close" in answer
    assert world.received[0].startswith(b"GET /a?b HTTP/1.1\r\nHost: 127.0.0.1")
    traffic = world.log.reached[f"127.0.0.1:{world.port}"]
    assert (traffic.connections, traffic.sent, traffic.received) == (
        1,
        len(world.received[0]),
        len(answer),
    )
    assert world.refused == []


def test_a_listed_host_is_reached_by_a_tunnel():
    async def tunnel():
        async with outside("127.0.0.1:{port}") as world:
            reader, writer = await world.open()
            writer.write(connect(f"127.0.0.1:{world.port}").encode() + b"GET / HTTP/1.1\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(38 + 5)
            writer.close()
            return head, body

    head, body = asyncio.run(tunnel())
    assert head.startswith(b"HTTP/1.1 200")
    assert body.endswith(b"hello")


@pytest.mark.parametrize(
    ("request_", "target"),
    [
        (get("http://evil.example/", "evil.example"), "evil.example:80"),
        (connect("evil.example:443"), "evil.example:443"),
        (connect("[::1]:443"), "[::1]:443"),
        (connect("api.model.example.evil.net:443"), "api.model.example.evil.net:443"),
        (connect("evilmodel.example:443"), "evilmodel.example:443"),
        (connect("api.model.example:22"), "api.model.example:22"),
        (get("http://127.0.0.1:1/", "127.0.0.1:1"), "127.0.0.1:1"),
        (connect("2130706433:443"), "2130706433:443"),
        (connect("0x7f.1:443"), "0x7f.1:443"),
        (connect("API.EVIL.example.:443"), "api.evil.example:443"),
    ],
)
def test_what_is_not_listed_is_refused_and_told(request_, target):
    answer, world = asked(request_, "*.model.example", "model.example:443", "10.0.0.0/8")
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert world.refused == [(target, "not listed")]
    assert world.log.reached == {}


def test_a_listed_name_is_reached_in_any_spelling():
    answer, world = asked(
        get("http://MODEL.example.:{port}/", "model.example:{port}"),
        "model.example:{port}",
        "127.0.0.0/8:{port}",
        resolve=named("127.0.0.1"),
    )
    assert answer.endswith(b"hello")
    assert list(world.log.reached) == [f"model.example:{world.port}"]


INNER = """
    127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 100.64.0.1 169.254.169.254 0.0.0.0 198.18.0.1 224.0.0.1 240.0.0.1
    255.255.255.255 192.0.0.192 100.100.100.200 168.63.129.16 ::1 :: fe80::1 fc00::1 fd00:ec2::254 ff02::1 ::ffff:10.0.0.1
    ::ffff:127.0.0.1 ::127.0.0.1 ::ffff:0:10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::8.8.8.8 2002:7f00:1::
    2002:a9fe:a9fe::1 2001:0:7f00:1::1 2001::5601:203 2606:4700::5efe:a00:1 2606:4700::200:5efe:7f00:1 2001:db8::1 fec0::1
""".split()


@pytest.mark.parametrize("address", INNER)
@pytest.mark.parametrize("first", [(), ("93.184.216.34",)], ids=["alone", "behind a good one"])
def test_a_listed_name_that_leads_inside_is_refused_in_every_form_of_address(address, first):
    answer, world = asked(connect(f"{NAME}:443"), NAME, resolve=named(*first, address))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert [target for target, _ in world.refused] == [f"{NAME}:443"]
    assert "its name leads to " in world.refused[0][1]


def test_a_name_leads_inside_where_the_address_is_listed_too_or_the_user_configured_it():
    request_ = get(f"http://{NAME}:{{port}}/", f"{NAME}:{{port}}")
    listed = asked(request_, NAME + ":{port}", "127.0.0.1:{port}", resolve=named("127.0.0.1"))
    base = asked(
        request_,
        resolve=named("127.0.0.1"),
        policy=lambda port: EgressPolicy((HostRule(NAME, port, inside=True),)),
    )
    assert [answer[-5:] for answer, _ in (listed, base)] == [b"hello", b"hello"]


def test_a_metadata_service_is_refused_even_to_a_name_that_the_user_configured():
    answer, world = asked(
        get(f"http://{NAME}:{{port}}/", f"{NAME}:{{port}}"),
        resolve=named("169.254.169.254"),
        policy=lambda port: EgressPolicy((HostRule(NAME, port, inside=True),)),
    )
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert world.log.reached == {}


def hello_through(tls_port, sent: bytes, name: str = NAME, *, http: bool = False):
    """What the server behind a tunnel to `name` received of these bytes, and what was told."""

    async def tunnel():
        async with outside(
            name + ":{port}", "127.0.0.1:{port}", resolve=named("127.0.0.1")
        ) as world:
            tls_port(world.port if not http else 1)
            reader, writer = await world.open()
            writer.write(connect(f"{name}:{world.port}").encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(sent)
            writer.write_eof()
            await reader.read()
            writer.close()
            return b"".join(world.received), [why for _, why in world.refused]

    return asyncio.run(tunnel())


def split_records(hello: bytes, at: int = 20) -> bytes:
    """The same message in two records."""
    message = hello[5:]
    parts = message[:at], message[at:]
    return b"".join(hello[:3] + len(part).to_bytes(2, "big") + part for part in parts)


ECH = b"\xfe\x0d\x00\x01\x00"
TWICE = b"\x00\x00\x00\x11\x00\x0f\x00\x00\x0c" + b"evil.example"


def test_a_tunnel_passes_tls_to_the_name_it_was_opened_for(tls_port):
    hello = client_hello(NAME)
    for sent in (hello, split_records(hello), split_records(hello, 2)):
        assert hello_through(tls_port, sent) == (sent, [])


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (client_hello("evil.example"), "the TLS name is evil.example"),
        (client_hello(f"a.{NAME}"), f"the TLS name is a.{NAME}"),
        (split_records(client_hello("evil.example")), "the TLS name is evil.example"),
        (client_hello(), "the TLS name is missing"),
        (client_hello(NAME, strange=ECH), "the TLS name is encrypted"),
        (client_hello(NAME, strange=TWICE), "malformed TLS hello"),
        (append_extension(client_hello(NAME), b"\x00\x0b\x00\xff"), "malformed TLS hello"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "not a TLS connection"),
        (b"SSH-2.0-x\r\n", "not a TLS connection"),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", "not a TLS connection"),
        (b"\x16\x03\x01\xff\xff", "not a TLS connection"),
    ],
)
def test_a_tunnel_to_443_passes_nothing_but_tls_to_that_name(tls_port, sent, why):
    assert hello_through(tls_port, sent) == (b"", [why])


def test_tls_to_another_name_is_refused_on_any_port_and_an_address_needs_none(tls_port):
    assert hello_through(tls_port, client_hello("evil.example"), http=True)[0] == b""
    hello = client_hello()
    assert hello_through(tls_port, hello, "127.0.0.1") == (hello, [])


HOST = "Host: 127.0.0.1:{port}\r\n"
LINE = "POST http://127.0.0.1:{port}/ HTTP/1.1\r\n"
SECOND = "GET http://127.0.0.1:{port}/second HTTP/1.1\r\n\r\n"
SMUGGLED = {
    "two lengths": LINE + HOST + "Content-Length: 1\r\nContent-Length: 60\r\n\r\nx",
    "length and coding": LINE
    + HOST
    + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "coding twice": LINE
    + HOST
    + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "other coding": LINE + HOST + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "vertical tab": LINE + HOST + "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "space before colon": LINE + HOST + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "folded": LINE + HOST + "X: a\r\n Transfer-Encoding: chunked\r\n\r\n",
    "bare newline": LINE + HOST + "X: a\nTransfer-Encoding: chunked\r\n\r\n",
    "bare return": LINE + HOST + "X: a\rTransfer-Encoding: chunked\r\n\r\n",
    "nul": LINE + HOST + "X: a\0b\r\n\r\n",
    "signed length": LINE + HOST + "Content-Length: +5\r\n\r\nhello",
    "listed length": LINE + HOST + "Content-Length: 5, 5\r\n\r\nhello",
    "no host": LINE + "\r\n",
    "two hosts": LINE + HOST + HOST + "\r\n",
    "another host": LINE + "Host: evil.example\r\n\r\n",
    "login in the target": "GET http://127.0.0.1:{port}@evil.example/ HTTP/1.1\r\n" + HOST + "\r\n",
    "old version": LINE.replace("1.1", "1.0")
    + HOST
    + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "no version": "GET http://127.0.0.1:{port}/\r\n\r\n",
    "other scheme": "GET ftp://127.0.0.1:{port}/ HTTP/1.1\r\n" + HOST + "\r\n",
    "not for a proxy": "GET / HTTP/1.1\r\n" + HOST + "\r\n",
    "body of a tunnel": "CONNECT 127.0.0.1:{port} HTTP/1.1\r\n"
    + HOST
    + "Content-Length: 3\r\n\r\nabc",
    "no port": "CONNECT 127.0.0.1 HTTP/1.1\r\n" + HOST + "\r\n",
    "big port": "CONNECT 127.0.0.1:99999 HTTP/1.1\r\n" + HOST + "\r\n",
}


@pytest.mark.parametrize("case", SMUGGLED)
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_nothing_is_sent(case):
    answer, world = asked(SMUGGLED[case], "127.0.0.1:{port}")
    assert re.match(rb"HTTP/1\.1 40\d ", answer)
    assert world.received == []
    assert len(world.refused) == 1


@pytest.mark.parametrize(
    ("body", "passed"),
    [
        ("Content-Length: 2\r\n\r\nab" + SECOND, b"\r\n\r\nab"),
        (
            "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nX-Trailer: 1\r\n\r\n" + SECOND,
            b"\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        ),
        ("\r\n" + SECOND, b"\r\n\r\n"),
    ],
    ids=["length", "chunked", "none"],
)
def test_nothing_after_the_one_request_is_passed_on(body, passed):
    _, world = asked(LINE + HOST + body, "127.0.0.1:{port}")
    assert len(world.received) == 1
    assert world.received[0].endswith(passed)


@pytest.mark.parametrize(
    "chunk",
    ["-1\r\n", "0x5\r\nhello\r\n", "5\nhello\r\n", "5\r\nhelloXX", "g\r\n", "1" * 14 + "\r\n"],
)
def test_a_malformed_chunk_ends_the_request(chunk):
    answer = b"HTTP/1.1 100 Continue\r\n\r\n"
    _, world = asked(
        LINE + HOST + "Transfer-Encoding: chunked\r\n\r\n" + chunk,
        "127.0.0.1:{port}",
        answer=answer,
    )
    assert [why for _, why in world.refused] == ["malformed chunk"]


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGARBAGE",
            b"3\r\nabc\r\n0\r\n\r\n",
        ),
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxGARBAGE",
            b"\r\n\r\nx",
        ),
        (b"HTTP/1.1 204 No Content\r\n\r\nGARBAGE", b"\r\n\r\n"),
    ],
)
def test_an_answer_ends_where_its_head_says(answer, seen):
    got, _ = asked(
        get("http://127.0.0.1:{port}/", "127.0.0.1:{port}"), "127.0.0.1:{port}", answer=answer
    )
    assert got.endswith(seen)


def test_a_connection_is_not_handed_over_to_another_protocol():
    answer = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
    more = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    got, world = asked(
        get("http://127.0.0.1:{port}/", "127.0.0.1:{port}", more), "127.0.0.1:{port}", answer=answer
    )
    assert got.startswith(b"HTTP/1.1 502 ")
    assert b"websocket" not in world.received[0]


SHORT = ProxyLimits(head=0.05, dial=5, idle=0.05, connections=3)


@pytest.mark.parametrize(
    "begun", ["", "GET http://127", get("http://127.0.0.1:{port}/", "127.0.0.1:{port}")[:-2]]
)
def test_a_request_that_is_not_finished_in_time_is_ended(begun):
    answer, world = asked(begun, "127.0.0.1:{port}", limits=SHORT)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert world.received == []


def test_a_body_and_an_answer_that_stop_are_ended():
    head = LINE + HOST + "Content-Length: 9\r\n\r\nab"
    answer, _ = asked(head, "127.0.0.1:{port}", limits=SHORT, answer=b"")
    assert answer.startswith(b"HTTP/1.1 408 ")
    cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"
    request_ = get("http://127.0.0.1:{port}/", "127.0.0.1:{port}")
    with pytest.raises(ConnectionResetError):
        asked(request_, "127.0.0.1:{port}", limits=SHORT, answer=cut)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
    ],
    ids=["to the end", "chunked", "length"],
)
def test_an_answer_that_the_server_breaks_off_does_not_look_complete(head):
    async def broken():
        async def serve(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head + b"half")
            await writer.drain()
            await go_on.wait()
            if b"200 OK\r\n\r\n" in head:  # an end of the stream would be the end of the answer
                reset = struct.pack("ii", 1, 0)
                sock = writer.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
            writer.transport.abort()

        go_on = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        target = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with outside(target) as world:
            reader, writer = await world.open()
            writer.write(get(f"http://{target}/", target).encode())
            await reader.readuntil(b"half")
            go_on.set()
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()
        server.close()

    asyncio.run(broken())


def test_an_idle_tunnel_is_ended():
    with pytest.raises(ConnectionResetError):
        asked(connect("127.0.0.1:{port}"), "127.0.0.1:{port}", limits=SHORT)


def test_a_head_that_never_ends_is_refused():
    answer, world = asked(
        "GET http://127.0.0.1/ HTTP/1.1\r\nX: " + "a" * (1 << 20), "127.0.0.1:{port}"
    )
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert [why for _, why in world.refused] == ["header too long"]


def test_more_connections_than_allowed_are_refused_until_one_ends():
    async def crowd():
        async with outside("127.0.0.1:{port}", limits=ProxyLimits(connections=3)) as world:
            held = [await world.open() for _ in range(3)]
            request_ = get(f"http://127.0.0.1:{world.port}/", f"127.0.0.1:{world.port}")
            full = await world.ask("")
            held[0][1].close()
            while (await world.ask("", end=True)).startswith(b"HTTP/1.1 503"):
                pass
            free = await world.ask(request_)
            for _, writer in held[1:]:
                writer.close()
            return full, free, world.refused

    full, free, refused = asyncio.run(crowd())
    assert full.startswith(b"HTTP/1.1 503 ")
    assert free.endswith(b"hello")
    assert refused == [("", "too many connections")]


def test_a_flood_of_connections_holds_no_more_of_them_than_allowed():
    async def flood():
        async with outside(limits=ProxyLimits(connections=4)) as world:
            before = len([*Path("/proc/self/fd").iterdir()])
            held = [await world.open() for _ in range(200)]
            ended = [await reader.read() for reader, _ in held[4:]]
            ours = len([*Path("/proc/self/fd").iterdir()]) - before - len(held)
            for _, writer in held:
                writer.close()
            return ended, ours

    ended, ours = asyncio.run(flood())
    assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in ended)
    assert ours <= 4 + 2


@pytest.mark.parametrize(
    "host", ["<script>", "a`b`", "$(reboot)", "x\x7fy", "*", "a..b", "-", "%2e", "a" * 300]
)
def test_words_that_are_no_host_name_are_not_repeated_to_the_user(host):
    _, world = asked(connect(f"{host}:443"))
    assert [target for target, _ in world.refused] == [""]
    assert host not in str(world.refused)


def test_a_tls_name_that_is_none_is_not_repeated_to_the_user(tls_port):
    hello = client_hello("x" * 12).replace(b"x" * 12, b"a\n\x1b[31m<b>'!")
    assert hello_through(tls_port, hello) == (b"", ["the TLS name is malformed"])


def test_the_same_try_is_told_once_and_a_flood_of_tries_is_only_counted():
    async def flood():
        async with outside() as world:
            told = []
            world.log.tell = told.append
            for number in range(70):
                for _ in range(2):
                    await world.ask(connect(f"h{number}.example:443"))
            return told, world.log

    told, log = asyncio.run(flood())
    assert len(told) == len(log.refused) == 50
    assert set(log.refused.values()) == {2}
    assert log.refusals == 140
