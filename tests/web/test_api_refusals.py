"""What is not allowed is refused with a word of what, where and what next; nothing is done, and nothing is given away."""

import json
import socket
import subprocess
import sys

import pytest

pytest.importorskip("litestar")
from reading import ledger

from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.web.gate import RateLimiter

RUN = "261115-aaaaaa"
EVERY_ROUTE = [
    ("GET", "/api/repositories", "read"),
    ("POST", "/api/repositories", "admin"),
    ("DELETE", "/api/repositories/0123456789abcdef", "admin"),
    ("GET", "/api/repositories/0123456789abcdef/trends", "read"),
    ("GET", "/api/fleet", "read"),
    ("GET", "/metrics", "read"),
    ("GET", "/api/runs", "read"),
    ("POST", "/api/runs", "run"),
    ("GET", f"/api/runs/{RUN}", "read"),
    ("POST", f"/api/runs/{RUN}/answers", "run"),
    ("POST", f"/api/runs/{RUN}/cancel", "run"),
    ("POST", f"/api/runs/{RUN}/resume", "run"),
    ("POST", f"/api/runs/{RUN}/apply", "admin"),
    ("POST", f"/api/runs/{RUN}/discard", "admin"),
    ("POST", f"/api/runs/{RUN}/dismissals", "run"),
    ("GET", f"/api/runs/{RUN}/items", "read"),
    ("GET", f"/api/runs/{RUN}/items/1", "read"),
    ("GET", f"/api/runs/{RUN}/diff", "read"),
    ("GET", f"/api/runs/{RUN}/events", "read"),
    ("GET", f"/api/runs/{RUN}/stream", "read"),
    ("GET", f"/api/runs/{RUN}/artifacts", "read"),
    ("GET", f"/api/runs/{RUN}/artifacts/report.json", "read"),
    ("GET", f"/api/runs/{RUN}/reports/md", "read"),
    ("POST", "/api/fix/clarify", "run"),
    ("POST", "/api/fix/plan", "run"),
    ("POST", "/api/fix/start", "run"),
    ("GET", f"/api/fix/{RUN}/plan", "read"),
    ("PUT", f"/api/fix/{RUN}/plan/master_todo", "run"),
    ("PUT", f"/api/fix/{RUN}/plan/fix_todo/F001", "run"),
    ("GET", f"/api/fix/{RUN}/stream", "read"),
]
BELOW = {"read": ("", "wrong"), "run": ("", "wrong", "read"), "admin": ("", "wrong", "read", "run")}


@pytest.fixture(scope="module")
def kept(house):
    """A server with one run in its ledger, and a file beside the run's that nobody may have."""
    with SqliteStore.open(house.home) as store:
        ledger(store, RUN, str(house.folder / "repo" / ".git"), 3)
        ledger(store, "261115-foreign", "/somewhere/else/.git", 3)
    folder = house.home / "runs" / RUN
    (folder / "agents" / "robot").mkdir(parents=True)
    (folder / "agents" / "robot" / "login.json").write_text("secret-login")
    (folder / "report.json").write_text(json.dumps({"where": str(house.home / "runs")}))
    (folder / "link.txt").symlink_to(house.home / "tokens.json")
    return house


def refused(answer, site, *statuses: int) -> dict:
    assert answer.status_code in statuses, (answer.status_code, answer.text)
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["what"]
    assert problem["where"]
    assert str(site.home) not in answer.text
    assert "Traceback" not in answer.text
    return problem


def state(site) -> tuple:
    """What a refused request must leave as it is."""
    with SqliteStore.open(site.home, readonly=True) as store:
        return (
            len(store.runs()),
            [row.entries for row in store.runs()],
            (site.home / "repositories.json").read_bytes(),
        )


def header(site, role: str) -> dict[str, str]:
    token = {"": "", "wrong": "pl_wrong"}.get(role) if role in ("", "wrong") else site.tokens[role]
    return {"authorization": f"Bearer {token}"} if role else {}


def test_the_table_names_every_route_that_there_is(kept):
    with kept.client("") as client:
        paths = client.get("/api/openapi.json").json()["paths"]
    there = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    listed = {
        (method, path.replace(RUN, "*").replace("0123456789abcdef", "*"))
        for method, path, _ in EVERY_ROUTE
    }
    as_listed = {
        (method, path.replace("{run_id}", "*").replace("{repository_id}", "*").replace("{session_id}", "*")
         .replace("{number}", "1").replace("{name}", "report.json").replace("{form}", "md").replace("{code}", "F001"))
        for method, path in there
    }  # fmt: skip
    assert as_listed - listed == {("GET", "/api/health"), ("GET", "/api/openapi.json")}
    assert listed - as_listed == {("GET", "/metrics")}, "it is not below /api"


@pytest.mark.parametrize(("method", "path", "role"), EVERY_ROUTE, ids=str)
def test_without_the_right_token_nothing_is_done(kept, method, path, role):
    before = state(kept)
    with kept.client("") as client:
        for lower in BELOW[role]:
            body = (
                {"json": {"repository_id": kept.repository, "path": "/"}}
                if method == "POST"
                else {}
            )
            answer = client.request(method, path, headers=header(kept, lower), **body)
            problem = refused(answer, kept, 403 if lower in ("read", "run") else 401)
            assert problem["next"]
    assert state(kept) == before


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example:80"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "file://"}, 403),
        ({"origin": "http://[::1"}, 403),
        ({"authorization": "Basic cmVhZDpyZWFk"}, 401),
        ({"authorization": "Bearer"}, 401),
        ({"x-idempotency-key": "k" * 300}, 400),
    ],
    ids=str,
)
def test_requests_from_elsewhere_are_refused(kept, headers, status):
    before = state(kept)
    with kept.client("admin") as client:
        refused(
            client.post("/api/runs", headers=headers, json={"repository_id": kept.repository}),
            kept,
            status,
        )
    assert state(kept) == before


@pytest.mark.parametrize("origin", ["http://127.0.0.1:1234", "http://localhost", "https://[::1]:9"])
def test_pages_of_this_machine_may_use_it(kept, origin):
    with kept.client("read") as client:
        assert client.get("/api/runs", headers={"origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "../../../tokens.json",
        "..%2f..%2ftokens.json",
        "%2e%2e/%2e%2e/tokens.json",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "agents/robot/login.json",
        "./agents/robot/login.json",
        "report.json/../agents/robot/login.json",
        "link.txt",
        "lock",
        "report.json%00.txt",
        "..%5c..%5ctokens.json",
        "runs/../report.json",
    ],
)
def test_no_name_of_an_artifact_leads_elsewhere(kept, name):
    with socket.create_connection(
        ("127.0.0.1", kept.port)
    ) as raw:  # by hand: clients tidy paths up
        head = f"GET /api/runs/{RUN}/artifacts/{name} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        raw.sendall(f"{head}authorization: Bearer {kept.tokens['admin']}\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b"")).decode()
    assert answer.split()[1] in ("400", "404"), answer
    assert "secret-login" not in answer
    assert "hash" not in answer


def test_an_artifact_comes_without_the_state_folders_path(kept):
    with kept.client("read") as client:
        answer = client.get(f"/api/runs/{RUN}/artifacts/report.json")
        assert answer.json() == {"where": "PUNCHLIST_HOME/runs"}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert [each["name"] for each in client.get(f"/api/runs/{RUN}/artifacts").json()] == [
            "report.json"
        ]


@pytest.mark.parametrize(
    "run", ["261115-foreign", "last", "2", "..", "%2e%2e", "x" * 100, "261115-aaaaaa%00"]
)
def test_runs_of_repositories_that_are_not_registered_are_not_there(kept, run):
    with kept.client("admin") as client:
        refused(client.get(f"/api/runs/{run}"), kept, 400, 404)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"repository_id": 7}',
        b'{"repository_id": "nobody"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"repository_id": "ID", "unknown": 1}',
        b'{"repository_id": "ID", "workflow": "/etc/passwd.yaml"}',
        b'{"repository_id": "ID", "workflow": "nosuch"}',
        b'{"repository_id": "ID", "paths": ["/etc/passwd"]}',
        b'{"repository_id": "ID", "paths": ["../../etc"]}',
        b'{"repository_id": "ID", "paths": ["nosuch.py"]}',
        b'{"repository_id": "ID", "base": "--upload-pack=touch"}',
        b'{"repository_id": "ID", "base": "nosuch"}',
        b'{"repository_id": "ID", "findings": [{"name": "../x.json", "content": ""}]}',
        b'{"repository_id": "ID", "specification": ["../../etc/passwd"]}',
        b'{"repository_id": "ID", "max_seconds": -1}',
        b'{"repository_id": "ID", "agents": ["nosuch"]}',
        b'{"repository_id": "ID", "agents": ["a,b"]}',
        b'{"repository_id": "/etc"}',
    ],
)
def test_bodies_that_make_no_sense_are_refused(kept, body):
    before = state(kept)
    with kept.client("run") as client:
        answer = client.post("/api/runs", content=body.replace(b"ID", kept.repository.encode()))
        refused(answer, kept, 400, 403, 404, 409)
    assert state(kept) == before


@pytest.mark.parametrize("path", ["/api/runs", f"/api/runs/{RUN}/apply"])
def test_a_body_that_was_forgotten_is_asked_for_in_words(kept, path):
    with kept.client("admin") as client:
        answer = client.post(path)
        assert (answer.status_code, answer.json()["what"]) == (
            400,
            "the body is missing: a JSON object, {} at least",
        )


@pytest.mark.parametrize(
    ("path", "body", "statuses"),
    [
        ("/api/fix/start", {"master_todo_path": "/etc/passwd"}, (400,)),
        ("/api/fix/start", {"clarify_session_id": "261115-foreign"}, (404,)),
        ("/api/fix/start", {"issue_ids": ["../../etc"]}, (400,)),
        ("/api/fix/start", {"issue_ids": ["261115-nobody/1"]}, (404,)),
        ("/api/fix/plan", {"issue_ids": [f"{RUN}/1"]}, (404,)),
        ("/api/fix/clarify", {"answers": {"F001-q1": "yes"}}, (400,)),
        ("/api/fix/clarify", {"session_id": "261115-foreign"}, (404,)),
        ("/api/runs", {"allow_checks": True}, (403,)),
        ("/api/runs", {"agents": ["claude"]}, (403,)),
        ("/api/fix/plan", {"agents": ["claude"]}, (403,)),
    ],
)
def test_sessions_that_make_no_sense_are_refused(kept, path, body, statuses):
    before = state(kept)
    with kept.client("run") as client:
        refused(client.post(path, json={"repository_id": kept.repository, **body}), kept, *statuses)
    assert state(kept) == before


def test_bodies_that_are_too_large_are_refused(kept):
    before = state(kept)
    large = {
        "repository_id": kept.repository,
        "findings": [{"name": "a.json", "content": "x" * 9_000_000}],
    }
    with kept.client("run") as client:
        refused(client.post("/api/runs", json=large), kept, 413)
        pieces = (b"x" * 65536 for _ in range(200))
        refused(client.post("/api/runs", content=pieces), kept, 413, 400)
    assert state(kept) == before


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/api"), ("PUT", "/api/runs"), ("GET", "/api/x"), ("GET", "/api/schema")],
)
def test_what_is_not_there_says_so(kept, method, path):
    with kept.client("admin") as client:
        refused(client.request(method, path), kept, 404, 405)


@pytest.mark.parametrize("path", ["/", "/nosuch", "relative", "/etc", "/proc/self/root", "a\0b"])
def test_only_a_git_repository_can_be_registered(kept, path):
    before = state(kept)
    with kept.client("admin") as client:
        refused(client.post("/api/repositories", json={"path": path}), kept, 400, 409)
    assert state(kept) == before


def test_who_asks_too_often_has_to_wait():
    now = [0.0]
    buckets = RateLimiter(rate=2, burst=3, clock=lambda: now[0])
    assert [buckets.take_token("ada") for _ in range(3)] == [0, 0, 0]
    assert buckets.take_token("ada") == pytest.approx(0.5)
    assert buckets.take_token("bob") == 0, "everybody has a bucket of their own"
    now[0] = 0.5
    assert buckets.take_token("ada") == 0
    assert buckets.take_token("ada") > 0


def test_elsewhere_than_on_loopback_it_wants_a_token(tmp_path, house):
    env = {**house.env, "PUNCHLIST_HOME": str(tmp_path / "fresh")}
    command = [sys.executable, "-m", "punchlist", "serve", "--host", "0.0.0.0", "--port", "0"]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 2
    assert "--new-token" in ran.stderr


def test_tokens_are_kept_as_hashes_and_can_be_dropped(house):
    made = house.punchlist("serve", "--new-token", "read", "--name", "guest")
    token = made.stdout.strip()
    file = house.home / "tokens.json"
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    with house.client("") as client:
        headers = {"authorization": f"Bearer {token}"}
        assert client.get("/api/runs", headers=headers).status_code == 200
        (line,) = [
            line
            for line in house.punchlist("serve", "--tokens").stdout.splitlines()
            if "guest" in line
        ]
        house.punchlist("serve", "--drop-token", line.split()[0])
        assert client.get("/api/runs", headers=headers).status_code == 401
