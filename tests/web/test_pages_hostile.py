"""Every address of the dashboard against people who should not be there, and against forms that nobody honest sends."""

import pytest

pytest.importorskip("litestar")
from browsing import Browser

from punchlist.web.pages.router import ROUTES

RUN = "261115-aaaaaa"
HOUSE = "0123456789abcdef"
ROLES = ("read", "run", "admin")
EVERY = {
    ("GET", "/repositories/{repository_id:str}/trends"): "read",
    ("GET", "/fleet"): "read",
    ("GET", "/pulls"): "read",
    ("GET", "/favicon.ico"): "",
    ("GET", "/static/{mark:str}/{name:str}"): "",
    ("GET", "/sign-in"): "",
    ("POST", "/sign-in"): "",
    ("POST", "/sign-out"): "",
    ("GET", "/session"): "",
    ("GET", "/"): "read",
    ("GET", "/runs"): "read",
    ("POST", "/repositories"): "admin",
    ("POST", "/repositories/{repository_id:str}/forget"): "admin",
    ("GET", "/repositories/{repository_id:str}/start"): "run",
    ("POST", "/repositories/{repository_id:str}/start"): "run",
    ("GET", "/runs/{run_id:str}"): "read",
    ("GET", "/runs/{run_id:str}/parts"): "read",
    ("GET", "/runs/{run_id:str}/live"): "read",
    ("GET", "/runs/{run_id:str}/reports/{form:str}"): "read",
    ("GET", "/runs/{run_id:str}/files/{name:path}"): "read",
    ("GET", "/runs/{run_id:str}/items/{number:int}"): "read",
    ("GET", "/runs/{run_id:str}/diff"): "read",
    ("GET", "/runs/{run_id:str}/compare"): "read",
    ("POST", "/runs/{run_id:str}/answers"): "run",
    ("POST", "/runs/{run_id:str}/cancel"): "run",
    ("POST", "/runs/{run_id:str}/resume"): "run",
    ("POST", "/runs/{run_id:str}/apply"): "admin",
    ("POST", "/runs/{run_id:str}/discard"): "admin",
    ("POST", "/runs/{run_id:str}/dismiss"): "run",
    ("POST", "/runs/{run_id:str}/items/{number:int}/dismiss"): "run",
    ("POST", "/runs/{run_id:str}/items/{number:int}/restore"): "run",
}
"""Which role each address takes at least; an empty one is open to all."""
FORMS = [path for method, path in EVERY if method == "POST"]
_FILLED = {
    "{run_id:str}": RUN,
    "{repository_id:str}": HOUSE,
    "{number:int}": "1",
    "{mark:str}": "x",
    "{name:str}": "x",
    "{name:path}": "x",
    "{form:str}": "md",
}
_TYPED = "application/x-www-form-urlencoded"


def at(path: str) -> str:
    for name, value in _FILLED.items():
        path = path.replace(name, value)
    return path


@pytest.fixture(scope="module")
def signed_in(house):
    with (
        Browser(house, "read") as read,
        Browser(house, "run") as run,
        Browser(house, "admin") as admin,
    ):
        yield dict(zip(ROLES, (read, run, admin), strict=True))


def test_the_table_names_every_address_and_each_has_its_role():
    known = {
        (method, path): str(getattr(route.opt["role"], "value", route.opt["role"])).replace(
            "open", ""
        )
        for route in ROUTES
        for path in route.paths
        for method in route.http_methods
    }
    assert known == EVERY


@pytest.mark.parametrize(("method", "path"), EVERY)
def test_who_has_not_the_role_is_refused_and_who_has_it_is_not(house, signed_in, method, path):
    needed = EVERY[method, path]
    headers = {"origin": house.address, "hx-request": "true"}
    with Browser(house) as nobody:
        assert (nobody.request(method, at(path), headers=headers).status_code == 401) == bool(
            needed
        )
    if needed:
        for role, browser in signed_in.items():
            refused = browser.request(method, at(path), headers=headers).status_code == 403
            assert refused == (ROLES.index(role) < ROLES.index(needed)), role


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize(
    "origin", [None, "null", "http://127.0.0.1:1", "http://localhost", "https://127.0.0.1"]
)
def test_no_form_is_taken_from_elsewhere(house, signed_in, path, origin):
    answer = signed_in["admin"].post(
        at(path), data={"why": "x"}, headers={"origin": origin} if origin else {}
    )
    assert answer.status_code == 403, answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/sign-in", "/repositories", f"/runs/{RUN}/apply", f"/runs/{RUN}/items/1/dismiss"]
)
def test_forms_that_would_keep_everybody_waiting_are_not_read(house, signed_in, path):
    """A form of millions of fields takes many seconds to read, and nobody else is answered meanwhile."""
    answer = signed_in["admin"].post(
        path, content=b"a&" * 600_000, headers={"origin": house.address, "content-type": _TYPED}
    )
    assert answer.status_code == 413, answer.text


def test_who_was_refused_is_told_where_to_go_on_and_nothing_of_programs(signed_in, house):
    for path in ("/nothing", f"/runs/{RUN}", f"/runs/{RUN}/items/0", f"/runs/{RUN}/live?after=x"):
        page = signed_in["admin"].get(path)
        assert page.status_code in (400, 404)
        assert 'href="/"' in page.text
        assert "/api/" not in page.text, path
    late = signed_in["admin"].post(
        f"/runs/{RUN}/items/1/dismiss", data={"why": " "}, headers={"origin": house.address}
    )
    assert late.status_code == 400
    assert f'<a href="/runs/{RUN}">back to the run</a>' in late.text


def test_only_the_form_that_takes_files_may_be_large():
    large = [
        route.paths
        for route in ROUTES
        if "POST" in route.http_methods and route.request_max_body_size > 1024 * 1024
    ]
    assert large == [{"/repositories/{repository_id:str}/start"}]
