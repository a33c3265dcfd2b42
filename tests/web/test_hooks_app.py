"""A server that is a GitHub App answers pull requests of every repository that it is installed on, with one key; GitHub on loopback."""

import pytest
from app_keys import make_key
from browsing import Browser, text_of
from forge_kinds import KINDS
from github_app import GithubApp
from test_cli_pr import Shop
from test_hooks import SECRET, pushed, send, start, wait_comment, wait_for

from needs import rarely


@pytest.fixture
def key_file(tmp_path):
    return make_key(tmp_path)


@pytest.fixture
def shop(repo, tmp_path, key_file, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with KINDS["github"].server() as standin:
        made = Shop(repo, tmp_path, KINDS["github"], standin)
        made.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        made.state.app = GithubApp(key_file)
        yield made
        assert standin.state.problems == []


def read_page(site):
    with Browser(site, "read") as browser:
        return text_of(browser.get("/pulls").text)


@pytest.mark.parametrize("restarts", [False, *rarely(True)])
def test_one_key_answers_where_the_app_is_installed_and_says_where_it_is_not(
    site, shop, key_file, make_repo, restarts
):
    settings = {"track.app": "4242", "track.app-key-file": str(key_file), "track.repository": ""}
    other = make_repo("other")
    other.commit({"README": "other"})
    for repo, name in ((shop.repo, "acme/shop"), (other, "acme/other")):
        repo.git("config", "remote.origin.url", f"http://127.0.0.1/{name}.git")
    start(site, shop, **settings)
    site.register(shop.repo.root)
    site.register(other.root)
    app = shop.state.app
    with site.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["queued"]
        wait_comment(shop, shop.state.head[:10])
        assert send(client, pushed(shop, name="acme/other"), "d-2").json()["queued"]
        wait_for(lambda: "acme/other 7 is not answered: " in site.log.read_text())
        page = read_page(site)
        assert "the App Punchy is not installed on acme/other" in page
        assert "https://github.example/apps/punchy/installations/new" in page
    assert [each["repositories"] for each in app.asked] == [["shop"]], "made once, and kept"
    if restarts:
        site.kill()
        start(site, shop, **settings)
        app.expire_all()
        with site.client(role="") as client:
            assert send(client, pushed(shop, action="reopened"), "d-3").json()["queued"]
            wait_for(lambda: len(app.asked) == 2)
            wait_for(lambda: "acme/shop#7" not in read_page(site))
        assert len(shop.state.comments) == 1, "it finds its own comment again"
    said = site.log.read_text()
    assert "PRIVATE" not in said
    assert not any(token in said for token in app.tokens)
