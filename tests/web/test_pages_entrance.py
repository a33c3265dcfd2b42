"""Who comes in through the browser, and what a cookie is good for: pages, from pages of ours, while its token is known."""

import os
import pty
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("litestar")
from browsing import Browser, text_of
from hypothesis import given
from hypothesis import strategies as st

from punchlist.adapters.store.serving.access import SECRET, FileAccess
from punchlist.app.access import Role
from punchlist.errors import StoreError
from punchlist.web.pages.auth.sign_in import sanitize_path
from punchlist.web.pages.rendering import load_environment
from punchlist.web.security.sessions import Sessions, cookie_name
from punchlist.web.security.tokens import Tokens

RUN = "261115-aaaaaa"
PAGES = [
    "/",
    "/runs",
    "/fleet",
    "/pulls",
    f"/runs/{RUN}",
    f"/runs/{RUN}/parts",
    f"/runs/{RUN}/live",
    f"/runs/{RUN}/reports/md",
    f"/runs/{RUN}/files/x",
]
FORMS = [
    ("/repositories", "admin"),
    ("/repositories/0123456789abcdef/forget", "admin"),
    ("/repositories/0123456789abcdef/start", "run"),
]


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def entrance(tmp_path, clock):
    return Sessions(Tokens(FileAccess(tmp_path)), clock)


def test_a_cookie_names_its_holder_until_it_expires(entrance, clock):
    visitor = entrance.tokens.find_visitor(entrance.tokens.create_token(Role.RUN, "ada"))
    cookie = entrance.issue_cookie(visitor)
    assert entrance.verify_cookie(cookie) == visitor
    clock.now += 12 * 3600 - 1
    assert entrance.verify_cookie(cookie) == visitor
    clock.now += 1
    assert entrance.verify_cookie(cookie) is None


def test_a_cookie_ends_with_its_token_and_not_with_the_server(entrance, clock, tmp_path):
    visitor = entrance.tokens.find_visitor(entrance.tokens.create_token(Role.RUN))
    cookie = entrance.issue_cookie(visitor)
    restarted = Sessions(Tokens(FileAccess(tmp_path)), clock)
    assert restarted.verify_cookie(cookie) == visitor
    Tokens(FileAccess(tmp_path)).drop_token(visitor.id)
    assert restarted.verify_cookie(cookie) is None
    assert entrance.verify_cookie(cookie) is None


def test_a_token_of_the_same_id_does_not_inherit_a_cookie(entrance, clock, tmp_path):
    visitor = entrance.tokens.find_visitor(entrance.tokens.create_token(Role.READ))
    cookie = entrance.issue_cookie(visitor)
    path = tmp_path / "tokens.json"
    path.write_text(re.sub(r'"hash":"[0-9a-f]+"', f'"hash":"{"0" * 64}"', path.read_text()))
    assert entrance.verify_cookie(cookie) is None


@given(change=st.integers(0, 80), to=st.sampled_from("0123456789abcdef.x"))
def test_a_cookie_that_was_changed_anywhere_is_nobodys(tmp_path_factory, change, to):
    home = tmp_path_factory.mktemp("home")
    entrance = Sessions(Tokens(FileAccess(home)))
    cookie = entrance.issue_cookie(
        entrance.tokens.find_visitor(entrance.tokens.create_token(Role.ADMIN))
    )
    at = change % len(cookie)
    changed = f"{cookie[:at]}{to}{cookie[at + 1 :]}"
    assert changed == cookie or entrance.verify_cookie(changed) is None


def test_the_secret_is_its_owners_alone(entrance, tmp_path):
    entrance.issue_cookie(entrance.tokens.find_visitor(entrance.tokens.create_token(Role.RUN)))
    assert stat.S_IMODE((tmp_path / SECRET).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob(f"{SECRET}*")] == [SECRET]
    (tmp_path / SECRET).write_bytes(b"short")
    with pytest.raises(StoreError, match="no secret of ours"):
        Sessions(entrance.tokens).issue_cookie(entrance.tokens.list_all()[0])


def test_a_code_works_once_and_for_ten_minutes(entrance, clock, tmp_path):
    first, second = entrance.issue_code(), entrance.issue_code()
    assert entrance.redeem_code(first).role is Role.ADMIN
    assert entrance.redeem_code(first) is None
    assert entrance.redeem_code("") is None
    clock.now += 601
    assert entrance.redeem_code(second) is None
    assert not (tmp_path / "tokens.json").exists(), "what a link lets in is in no file"


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ("/runs/x?q=1", "/runs/x?q=1"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("/\nx", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_after_signing_in_one_stays_here(asked, where):
    assert sanitize_path(asked) == where


def test_servers_of_one_machine_do_not_share_a_cookie():
    hosts = (b"127.0.0.1:8470", b"127.0.0.1:8471", b"review.example", b"[::1]:8470")
    names = [cookie_name({"headers": [(b"host", host)]}) for host in hosts]
    assert names == ["punchlist-8470", "punchlist-8471", "punchlist-0", "punchlist-8470"]


def test_who_is_not_signed_in_is_sent_to_where_one_can(house):
    with Browser(house) as browser:
        for path in PAGES:
            answer = browser.get(path)
            assert (
                answer.status_code,
                answer.headers["location"].startswith("/sign-in?next=%2F"),
            ) == (303, True), path
            part = browser.get(
                path,
                headers={"hx-request": "true", "hx-current-url": f"{house.address}/runs/x?q=1"},
            )
            assert (part.status_code, part.headers["hx-redirect"]) == (
                401,
                "/sign-in?next=%2Fruns%2Fx%3Fq%3D1",
            ), path
        for path, _ in FORMS:
            assert browser.submit(path, files={"x": b""}).status_code == 401, path
        odd = browser.get("/", headers={"hx-request": "true", "hx-current-url": "http://["})
        assert (odd.status_code, odd.headers["hx-redirect"]) == (401, "/sign-in")
        page = browser.get("/sign-in?next=/runs/x").text
        assert 'value="/runs/x"' in page


def test_a_token_signs_in_and_out_again(house):
    with Browser(house) as browser:
        wrong = browser.submit("/sign-in", token="pl_wrong")
        assert wrong.status_code == 403
        assert "not known here" in wrong.text
        assert not browser.cookies
        right = browser.submit("/sign-in", token=house.tokens["read"], next="/?state=running")
        assert (right.status_code, right.headers["location"]) == (303, "/?state=running")
        cookie = right.headers["set-cookie"]
        assert re.match(
            rf"punchlist-{house.port}=[^;]+; HttpOnly; Max-Age=43200; Path=/; SameSite=strict$",
            cookie,
            re.IGNORECASE,
        ), cookie
        assert browser.get("/").status_code == 200
        assert browser.get("/session").headers["x-signed-in"] == "yes"
        assert browser.submit("/sign-out").status_code == 303
        assert browser.get("/").status_code == 303


def test_a_cookie_opens_no_api_and_a_token_no_page(house):
    with Browser(house, "admin") as browser:
        assert browser.get("/api/runs").status_code == 401
        assert browser.get(f"{house.address}//api/runs").status_code == 401
        assert browser.post("/api/repositories", json={"path": "/"}).status_code == 401
    with house.client("admin") as client:
        assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://127.0.0.1:1", "http://localhost", "https://evil.example", "file://"],
)
@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/repositories", f"/runs/{RUN}/cancel"])
def test_only_pages_of_ours_may_change_something(house, origin, path):
    with Browser(house, "admin") as browser:
        answer = browser.post(
            path, data={"path": "/"}, headers={"origin": origin} if origin else {}
        )
        assert answer.status_code == 403, answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(("path", "needed"), FORMS)
def test_a_role_does_what_it_may_and_is_offered_no_more(house, path, needed):
    for role in ("read", "run", "admin"):
        with Browser(house, role) as browser:
            refused = browser.submit(path, files={"path": b""}).status_code == 403
            assert refused == (
                ["read", "run", "admin"].index(role) < ["read", "run", "admin"].index(needed)
            ), role
            page = browser.get("/").text
            assert ("Start a run" in page) == (role != "read")
            assert ("/forget" in page) == ('action="/repositories"' in page) == (role == "admin")


def test_pages_let_nothing_in_from_elsewhere(house):
    with Browser(house, "read") as browser:
        for path in ("/", "/sign-in", "/nothing"):
            headers = browser.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["referrer-policy"] == "same-origin", (
                "with no-referrer, browsers send the origin null with forms"
            )
            assert headers["cache-control"] == "no-store"
        page = browser.get("/").text
    assert not re.search(r"<script(?![^>]*\ssrc=)", page), "no script stands in a page"
    assert not re.search(r"\s(style|on\w+)=", page)
    for address in re.findall(r'(?:src|href|action)="([^"]*)"', page):
        assert address.startswith(("/", "#")), address


def test_what_is_shipped_is_served_for_good_and_nothing_else(house):
    with Browser(house) as browser:
        page = browser.get("/sign-in").text
        files = sorted(set(re.findall(r'"(/static/[0-9a-f]{12}/[^"]+)"', page)))
        assert {Path(each).name for each in files} >= {
            "app.css",
            "app.js",
            "htmx.min.js",
            "icon.svg",
        }
        for each in files:
            answer = browser.get(each)
            assert (answer.status_code, answer.headers["content-type"].count("charset") < 2) == (
                200,
                True,
            )
            assert "immutable" in answer.headers["cache-control"]
        for path in (
            "/static/000000000000/app.css",
            "/static/x/..%2f..%2frouter.py",
            "/static/x/router.py",
            "/static/",
        ):
            assert browser.get(path).status_code == 404, path


def test_what_is_not_there_says_so_as_a_page(house):
    with Browser(house, "read") as browser:
        for path, status in (
            ("/nothing", 404),
            ("/schema", 404),
            (f"/runs/{RUN}", 404),
            ("/runs/..%2f..%2fetc", 404),
            ("/sign-out", 405),
        ):
            answer = browser.get(path)
            assert (answer.status_code, answer.headers["content-type"]) == (
                status,
                "text/html; charset=utf-8",
            ), path
            assert "That was not done" in answer.text
            assert str(house.home) not in answer.text
            assert "Traceback" not in answer.text


def test_what_the_gate_refuses_a_person_can_read(house):
    cases = (
        {"host": "elsewhere.example"},
        {"origin": "https://elsewhere.example"},
        {"authorization": "Bearer wrong"},
    )
    with Browser(house) as browser:
        for headers in cases:
            page = browser.get("/", headers={**headers, "accept": "text/html"})
            assert page.status_code in (401, 403, 421)
            assert "That was not done" in page.text
            assert "unsafe" not in page.headers["content-security-policy"]
            assert browser.get("/", headers=headers).json()["what"] in text_of(page.text)
            assert browser.get("/api/runs", headers={**headers, "accept": "text/html"}).json()[
                "what"
            ]


def test_a_list_of_tokens_that_cannot_be_read_lets_nobody_in_and_says_so(house):
    tokens = house.home / "tokens.json"
    whole = tokens.read_bytes()
    with Browser(house, "admin") as browser:
        try:
            tokens.write_bytes(b"{")
            page = browser.get("/", headers={"accept": "text/html"})
            answer = browser.get("/api/runs", headers={"authorization": "Bearer x"})
        finally:
            tokens.write_bytes(whole)
        assert (page.status_code, answer.status_code) == (503, 503)
        assert "PUNCHLIST_HOME/tokens.json: cannot be read" in text_of(page.text)
        assert "unsafe" not in page.headers["content-security-policy"]
        assert answer.json()["next"] == "remove it, and make new tokens"
        assert str(house.home) not in page.text + answer.text
        assert browser.get("/").status_code == 200


def test_a_page_never_trusts_text():
    """Whatever others wrote goes through escaping: no template switches it off, and none has a script of its own."""
    folder = Path(load_environment().loader.searchpath[0])
    for path in folder.glob("*.html"):
        text = path.read_text()
        assert "|safe" not in text.replace(" ", ""), path.name
        assert "autoescape" not in text, path.name
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), path.name
        assert not re.search(r"\s(style|on[a-z]+)=", text), path.name


def test_a_terminal_is_given_a_link_that_signs_in(site):
    """The link is for the person who sees it: it is not written where output goes into a file."""
    site.start()
    assert "sign-in" not in site.log.read_text()
    site.end()
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "punchlist", "serve", "--port", "0"]
    with subprocess.Popen(
        command,
        env={**site.env, "COLUMNS": "200"},
        stdout=follower,
        stderr=follower,
        cwd=site.folder,
    ) as serving:
        said = ""
        while "stops it" not in said:
            said += os.read(leader, 4096).decode()
        link = re.search(r"(http://127.0.0.1:(\d+))(/sign-in\?code=\S+)", said)
        site.port = int(link[2])
        with Browser(site) as browser:
            for _ in range(2):
                page = browser.get(link[3]).text
                assert "data-submit" in page, "looking at the link does not use it up"
            code = link[3].partition("=")[2]
            assert browser.submit("/sign-in", code=code).status_code == 303
            assert "the owner" in browser.get("/").text
        with Browser(site) as other:
            again = other.submit("/sign-in", code=code)
            assert again.status_code == 403
            assert "was used" in again.text
        serving.terminate()
