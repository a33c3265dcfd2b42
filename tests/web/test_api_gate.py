"""Single parts of the gate and of what is remembered: names, tokens, keys."""

import asyncio
import time

import pytest

pytest.importorskip("litestar")
from reading import started

from punchlist.adapters.store.serving.access import FileAccess
from punchlist.adapters.store.serving.records import FileKeys
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.access import Role
from punchlist.errors import UsageError
from punchlist.web.gate import Gate, Rules
from punchlist.web.problem import Refused
from punchlist.web.security.hiding import PathMasker
from punchlist.web.security.idempotency import IdempotencyKeys
from punchlist.web.security.tokens import Tokens
from punchlist.web.server import ListenOptions, allowed_hosts
from punchlist.web.state import Options, WebSession


def status(gate: Gate, **headers: str) -> int:
    sent = []

    async def send(message):
        sent.append(message)

    pairs = [
        (name.encode(), value.encode()) for name, value in {"host": "localhost", **headers}.items()
    ]
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": pairs,
        "client": ("127.0.0.1", 1),
    }
    asyncio.run(gate(scope, None, send))
    return sent[0]["status"]


async def inside(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def test_guessing_tokens_is_limited_too(tmp_path):
    gate = Gate(
        inside,
        Tokens(FileAccess(tmp_path)),
        Rules(hosts=frozenset({"localhost"}), rate=0.001, burst=2),
        PathMasker(tmp_path),
    )
    assert [status(gate, authorization=f"Bearer {n}") for n in range(3)] == [401, 401, 429]


def test_each_token_has_a_bucket_of_its_own(tmp_path):
    tokens = Tokens(FileAccess(tmp_path))
    mine, yours = tokens.create_token(Role.READ), tokens.create_token(Role.RUN)
    gate = Gate(
        inside,
        tokens,
        Rules(hosts=frozenset({"localhost"}), rate=0.001, burst=1),
        PathMasker(tmp_path),
    )
    assert [status(gate, authorization=f"Bearer {token}") for token in (mine, mine, yours)] == [
        200,
        429,
        200,
    ]


def test_whoever_was_let_in_is_welcome_until_their_token_is_dropped(tmp_path):
    tokens, seen = Tokens(FileAccess(tmp_path)), []

    async def streaming(scope, receive, send):
        seen.append(scope["admitted"])
        await inside(scope, receive, send)

    gate = Gate(streaming, tokens, Rules(hosts=frozenset({"localhost"})), PathMasker(tmp_path))
    assert status(gate, authorization=f"Bearer {tokens.create_token(Role.READ)}") == 200
    assert seen[0]()
    tokens.drop_token(tokens.list_all()[0].id)
    assert not seen[0]()
    (tmp_path / "tokens.json").write_text("{")
    assert not seen[0]()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.9"])
def test_on_loopback_it_goes_by_the_names_of_loopback(tmp_path, host):
    assert {"127.0.0.1", "localhost", "::1", host} <= allowed_hosts(
        ListenOptions(host=host), Tokens(FileAccess(tmp_path))
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_elsewhere_it_wants_a_token_and_goes_by_what_it_was_told(tmp_path, host):
    tokens = Tokens(FileAccess(tmp_path))
    with pytest.raises(UsageError, match="no token"):
        allowed_hosts(ListenOptions(host=host), tokens)
    tokens.create_token(Role.READ)
    found = allowed_hosts(ListenOptions(host=host, names=("Review.Example",)), tokens)
    assert found == {"review.example"} | ({host} if host not in ("0.0.0.0", "::") else set())


def test_roles_are_in_order():
    assert [[role.includes(needed) for needed in Role] for role in Role] == [
        [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip


def test_a_key_stands_for_one_request(tmp_path):
    begun = {"run-1"}
    keys = IdempotencyKeys(FileKeys(tmp_path), begun.__contains__)
    assert keys.find_run("k", b"a") == ""
    assert keys.claim_run("k", b"a", "run-1") == "run-1"
    assert keys.claim_run("k", b"a", "run-2") == "run-1"
    assert keys.find_run("k", b"a") == "run-1"
    assert keys.find_run("other", b"a") == ""
    for ask in (keys.find_run, lambda key, body: keys.claim_run(key, body, "run-3")):
        with pytest.raises(Refused, match="another request") as told:
            ask("k", b"b")
        assert (told.value.status, told.value.run) == (422, "run-1")
    claimed = [keys.is_claimed("k", run) for run in ("run-1", "", "run-2")]
    assert claimed == [True, True, False], "a run of another key is not waited for"
    assert not keys.is_claimed("", "run-1")
    begun.clear()
    assert keys.find_run("k", b"a") == "", "claimed, and its server was killed before it began"
    assert keys.claim_run("k", b"a", "run-4") == "run-1"


def test_requests_without_a_key_have_runs_of_their_own(tmp_path):
    keys = IdempotencyKeys(FileKeys(tmp_path), lambda run: True)
    assert [keys.claim_run("", b"a", run) for run in ("r1", "r2")] == ["r1", "r2"]
    assert keys.find_run("", b"a") == ""


def test_under_one_key_there_is_one_at_a_time(tmp_path):
    keys, inside, most = IdempotencyKeys(FileKeys(tmp_path), bool), [0], [0]

    async def one() -> None:
        async with keys.lock_key("k"):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            await asyncio.sleep(0.001)
            inside[0] -= 1

    async def main() -> None:
        for _ in range(3):
            await asyncio.gather(*(one() for _ in range(5)))

    asyncio.run(main())
    assert most == [1]
    assert keys._turns == {}, "nothing is kept of those who are through"


def test_a_run_that_began_just_before_the_kill_is_found_by_its_key(tmp_path):
    desk = WebSession(tmp_path, Options(), lambda: False)
    run = desk.keys.claim_run("k", b"a", "261115-000001")
    assert desk.keys.find_run("k", b"a") == ""
    with SqliteStore.open(tmp_path) as store:
        store.append(run, "start", "started", started("/srv/shop/.git"), time.time())
    assert desk.keys.find_run("k", b"a") == run
    asyncio.run(desk.close())


def test_a_server_without_tokens_makes_one_for_its_start(tmp_path, site):
    (site.home / "tokens.json").unlink()
    site.start()
    token = site.log.read_text().split("(admin): ")[1].split()[0]
    site.tokens["admin"] = token
    with site.client() as client:
        assert client.get("/api/repositories").json() == []
    assert not (site.home / "tokens.json").exists()
