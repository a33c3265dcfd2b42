"""A GitHub App's tokens: made of its key, kept, renewed and limited; a GitHub on loopback checks each."""

import asyncio

import pytest
from app_keys import make_key
from forge_kinds import KINDS, Clock
from forge_state import Fault
from github_app import ALL, GithubApp
from github_pulls import GithubServer
from msgspec.structs import replace
from test_forge_contract import board, hear, show

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.github_app.app_key import AppKey
from punchlist.adapters.rest.github_app.permissions import FILING
from punchlist.adapters.rest.retry import NotThere, Unavailable

HOUR = 3600


@pytest.fixture(scope="module")
def server():
    with GithubServer() as standin:
        yield standin


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("key"))


@pytest.fixture
def clock():
    return Clock()


_apps = iter(range(5000, 9000))


@pytest.fixture
def app(server, key_file, clock):
    """An App of its own for each test: tokens are kept for as long as the process lives."""
    made = GithubApp(key_file, id=next(_apps), now=clock)
    server.fresh(hunks={"a.py": [(1, 20)]}, app=made)
    yield made
    assert server.state.problems == []


@pytest.fixture
def forge(server, app, clock, key_file):
    """Makes the forge as a new process would, but for the tokens."""

    def make(issuer="", pacing=None, **place):
        key = AppKey(issuer=issuer or str(app.id), file=str(key_file))
        made = KINDS["github"].open(server, pacing or clock.pacing)
        made._place = replace(made._place, **{"app": key, **place})
        return made

    return make


def test_one_token_serves_until_shortly_before_its_end_and_allows_no_more_than_is_needed(
    forge, app, server, clock
):
    for _ in range(2):
        show(forge(), board(notes=3))
    assert app.asked == [{"repositories": ["shop"], "permissions": ALL}]
    clock.now += HOUR - 400
    hear(forge())
    assert len(app.asked) == 1
    clock.now += 200
    hear(forge())
    assert len(app.asked) == 2
    assert [len(server.state.comments), len(server.state.check_runs)] == [1, 1]


def test_the_client_id_names_the_app_too(forge, app):
    assert hear(forge(issuer=app.client)).viewer == "punchy"


@pytest.mark.parametrize("uses", [1, 4])
def test_a_token_that_expires_in_the_middle_is_renewed_and_nothing_is_there_twice(
    forge, app, server, uses
):
    app.uses = uses
    show(forge(), board(notes=3))
    app.uses = 10**9
    app.expire_all()
    show(forge(), board(notes=3))
    assert len(app.asked) > 2
    assert [len(server.state.comments), len(server.state.check_runs)] == [1, 1]


def test_a_token_that_is_refused_again_and_again_ends_the_answer(forge, app):
    app.uses = 0
    with pytest.raises(Unavailable, match="the token is not accepted"):
        hear(forge())
    assert len(app.asked) == 2, "it was renewed once"


@pytest.mark.parametrize("minutes", [-55, -4, 4, 300])
def test_a_clock_that_is_wrong_by_minutes_is_corrected_by_the_servers(
    forge, app, clock, server, minutes
):
    app.now = lambda: clock.now + 60 * minutes
    show(forge(), board())
    clock.now += HOUR - 400
    hear(forge())
    assert len(app.asked) == 1, "its end is reckoned by the server's clock"
    clock.now += 200
    hear(forge())
    assert len(app.asked) == 2


def test_a_server_in_trouble_is_asked_again(forge, app, server):
    server.state.read_faults = [Fault(502)]
    server.state.faults = [Fault(502, effect=True), Fault(502)]
    hear(forge())
    assert len(app.asked) == 2, "one more token does no harm"


def test_an_app_that_is_not_installed_or_suspended_says_what_to_do(forge, app):
    app.installed = {"acme/other": 99}
    with pytest.raises(NotThere, match="the App Punchy is not installed on acme/shop") as raised:
        hear(forge())
    assert raised.value.hint.endswith("https://github.example/apps/punchy/installations/new")
    app.installed = {"acme/shop": 99}
    app.suspended = True
    with pytest.raises(Unavailable, match="suspended on acme/shop") as raised:
        hear(forge())
    assert raised.value.hint.endswith("https://github.example/settings/installations/99")
    app.suspended = False
    assert hear(forge()).viewer == "punchy"


def test_a_key_of_another_app_says_so_and_shows_nothing_of_it(forge, app, tmp_path):
    other = make_key(tmp_path)
    with pytest.raises(Unavailable, match="does not accept the key of the App") as raised:
        hear(forge(app=AppKey(issuer=str(app.id), file=str(other))))
    said = f"{raised.value} {raised.value.hint}"
    assert f"is track.app the id of the App that the key in {other} is of?" in said
    assert other.read_text()[100:130] not in said
    with pytest.raises(Unavailable, match="Integration not found"):
        hear(forge(issuer="31337"))


@pytest.fixture
def clone(repo, server):
    """A clone of the repository over HTTP."""
    repo.git("remote", "add", "origin", f"{server.api}/acme/shop.git")
    return repo


def test_what_is_not_granted_is_not_asked_for(forge, app, server, clone):
    app.granted = {
        "metadata": "read",
        "issues": "write",
        "pull_requests": "write",
        "contents": "read",
    }
    shown = show(forge(), board())
    assert app.asked[0]["permissions"] == app.granted
    assert "the token may make neither check runs nor commit statuses" in shown.notes
    heard = hear(forge())
    assert heard.unread == (
        "the token may not read the annotations of checks",
        "the token may not read code scanning alerts",
    )
    asyncio.run(forge(needed=FILING, git=Git(clone.root)).make_git_login())
    assert app.asked[-1]["permissions"] == {"metadata": "read", "issues": "write"}


def test_a_check_of_the_same_name_by_another_app_is_left_alone(forge, app, server):
    show(forge(), board(notes=3))
    (run,) = server.state.check_runs
    run["app"] = 15368  # that of GitHub Actions
    show(forge(), board(notes=3))
    assert [each["app"] for each in server.state.check_runs] == [15368, app.id]
    assert server.state.statuses == []


def test_git_gets_a_fresh_token_for_one_host_and_tells_no_other_helper(
    forge, app, server, clock, clone
):
    git = Git(clone.root)
    first, again = (asyncio.run(forge(git=git).make_git_login()) for _ in range(2))
    assert first == again
    clock.now += HOUR - 200
    later = asyncio.run(forge(git=git).make_git_login())
    assert later["FORGE_TOKEN"] != first["FORGE_TOKEN"]
    assert first["GIT_CONFIG_KEY_0"] == f"credential.{server.api}.helper"
    assert first["GIT_CONFIG_VALUE_0"] == ""
    assert first["FORGE_TOKEN"] not in first["GIT_CONFIG_VALUE_1"]


def test_git_gets_no_token_if_its_remote_is_elsewhere_too(forge, app, server, clone):
    home, (scheme, _, host) = f"{server.api}/acme/shop.git", server.api.partition("://")
    port = host.rpartition(":")[2]

    def is_given():
        return bool(asyncio.run(forge(git=Git(clone.root)).make_git_login()))

    for address in (home, f"{scheme}://ann@{host}/acme/shop.git"):
        clone.git("remote", "set-url", "origin", address)
        assert is_given()
    app.asked.clear()
    app.expire_all()
    for address in [
        f"/mirrors/{host}/shop.git", f"file://{host}/acme/shop.git", f"ssh://git@{host}/acme/shop.git", "git@127.0.0.1:acme/shop.git",
        f"https://{host}/acme/shop.git", f"{scheme}://localhost:{port}/acme/shop.git", f"{scheme}://127.0.0.1/acme/shop.git",
        f"{scheme}://{host}@mirror.example/acme/shop.git", f"{scheme}://{host}#@mirror.example/acme/shop.git", f"ext::sh -c {home}",
    ]:  # fmt: skip
        clone.git("remote", "set-url", "origin", address)
        assert not is_given(), address
    clone.git("remote", "set-url", "origin", home)
    clone.git("config", "url./mirrors/.pushInsteadOf", f"{server.api}/")
    assert not is_given(), "git would push to a folder"
    clone.git("config", "--remove-section", "url./mirrors/")
    for address in (home, "ssh://git@mirror.example/acme/shop.git"):
        clone.git("remote", "set-url", "--add", "--push", "origin", address)
    assert not is_given(), "git would push to both"
    clone.git("remote", "remove", "origin")
    assert not is_given()
    assert app.asked == [], "no token is made in vain"
