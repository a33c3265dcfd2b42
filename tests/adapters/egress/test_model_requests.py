"""Requests to an agent's model: the key is added outside, and no other account can be used."""

import asyncio

import pytest
from outside import named, outside

from punchlist.adapters.egress.policy import EgressPolicy, ModelRoute, parse_base_url, parse_rule

MARK, KEY = "punchlist-holds-this-key-0123", "sk-canary-0123456789"


def asked(request, base="http://127.0.0.1:{port}/base", **options):
    async def ask():
        def policy(port):
            url = parse_base_url(base.format(port=port))
            return EgressPolicy(routes=(ModelRoute("/m0", url, {MARK: KEY}),))

        async with outside(policy=policy, **options) as world:
            return await world.ask(request), world

    return asyncio.run(ask())


def post(path, *fields):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1:3128", "Content-Length: 2", *fields]
    return "\r\n".join(lines) + "\r\n\r\n{}"


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        (f"x-api-key: {MARK}", f"x-api-key: {KEY}"),
        (f"Authorization: Bearer {MARK}", f"Authorization: Bearer {KEY}"),
        (f"x-goog-api-key: {MARK}", f"x-goog-api-key: {KEY}"),
    ],
)
def test_the_key_takes_the_place_of_its_placeholder_outside(field, sent):
    answer, world = asked(post("/m0/v1/messages?beta=true", field, "X-Other: kept"))
    assert answer.endswith(b"hello")
    head = world.received[0].decode()
    assert head.startswith(
        f"POST /base/v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\n"
    )
    assert sent in head
    assert "X-Other: kept" in head
    assert world.received[0].endswith(b"\r\n\r\n{}")
    assert KEY not in answer.decode()


@pytest.mark.parametrize(
    "field",
    [
        "x-api-key: sk-of-somebody-else",
        "Authorization: Bearer sk-of-somebody-else",
        f"Authorization: Bearer sk-of-somebody-else {MARK}",
        f"Authorization: Bearer {MARK}, Bearer sk-of-somebody-else",
        "Cookie: session=sk-of-somebody-else",
        "X-GOOG-API-KEY: sk-of-somebody-else",
        "api-key: sk-of-somebody-else",
    ],
)
def test_another_account_than_the_users_cannot_be_used(field):
    _, world = asked(post("/m0/v1/messages", f"x-api-key: {MARK}", field))
    assert b"somebody-else" not in world.received[0]
    assert KEY.encode() in world.received[0]


@pytest.mark.parametrize("name", ["key", "KEY", "k%65y", "api_key", "access_token"])
def test_a_login_in_the_query_is_replaced_or_dropped(name):
    _, world = asked(post(f"/m0/v1?alt=sse&{name}=sk-of-somebody-else"))
    assert world.received[0].startswith(b"POST /base/v1?alt=sse HTTP/1.1")
    _, world = asked(post(f"/m0/v1?alt=sse&{name}={MARK}"))
    assert KEY.encode() in world.received[0].partition(b"\r\n")[0]


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "TRACE"])
def test_the_key_is_not_used_to_change_or_delete_things(method):
    answer, world = asked(post("/m0/v1/models/mine", f"x-api-key: {MARK}").replace("POST", method))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert world.received == []


def test_the_key_is_put_nowhere_else():
    _, world = asked(post(f"/m0/{MARK}?q={MARK}", f"X-Echo: {MARK}", f"User-Agent: {MARK}"))
    assert KEY.encode() not in world.received[0]


@pytest.mark.parametrize(
    "path",
    [
        "/m0//evil.example/v1",
        "/m0/../admin",
        "/m0/v1/%2e%2e/admin",
        "/m0/v1/%252e%252e/admin",
        "/m0/v1\\..\\admin",
        "/m0/./x",
        "/m0/%zz",
        "/m1/v1",
        "/m0x/v1",
        "/",
        "/m0/v1#x",
    ],
)
def test_only_paths_below_the_base_url_are_asked_for(path):
    answer, world = asked(post(path, f"x-api-key: {MARK}"))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert world.received == []


def test_a_configured_base_url_may_lead_inside_but_not_to_a_metadata_service():
    answer, _ = asked(post("/m0/v1"), "http://model.corp:{port}", resolve=named("127.0.0.1"))
    assert answer.endswith(b"hello")
    answer, world = asked(
        post("/m0/v1"), "http://model.corp:{port}", resolve=named("169.254.169.254")
    )
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert world.log.reached == {}


def test_a_service_that_cannot_be_reached_is_a_bad_gateway():
    answer, world = asked(post("/m0/v1"), "http://127.0.0.1:1")
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert world.refused == []


@pytest.mark.parametrize(
    "text",
    [
        "https://x.example",
        "x.example/path",
        "x y",
        "-x.example",
        "x.example:0",
        "x.example:99999",
        "x..example",
        "*x.example",
        "",
        ":443",
        "[::1",
        "a@b",
    ],
)
def test_what_is_no_host_is_said(text):
    with pytest.raises(ValueError, match=r"host|port"):
        parse_rule(text)


def test_a_listed_host_has_port_443_unless_it_names_another():
    rules = ["x.example", "X.example.:8443", "*.x.example", "10.0.0.0/8:80", "[::1]:8080", "*"]
    assert [str(parse_rule(text)) for text in rules] == [
        "x.example:443", "x.example:8443", "*.x.example:443", "10.0.0.0/8:80", "[::1]:8080", "*:443",
    ]  # fmt: skip
