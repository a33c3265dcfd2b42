"""A server that a forge gives notice answers the pull request; real git, GitHub on loopback."""

import hmac
import json
import time
from hashlib import sha256

import pytest
from forge_kinds import KINDS
from forge_standin import TOKEN
from test_cli_pr import Shop

from needs import rarely

SECRET = "a long secret"


@pytest.fixture
def shop(repo, tmp_path):
    with KINDS["github"].server() as standin:
        made = Shop(repo, tmp_path, KINDS["github"], standin)
        made.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        yield made
        assert standin.state.problems == []


def deliver(client, shop, delivery, *, secret=SECRET, action="synchronize"):
    head = {"sha": shop.state.head, "ref": "topic", "repo": {"full_name": "acme/shop"}}
    base = {"sha": shop.state.base, "ref": "main"}
    body = json.dumps({"action": action, "repository": {"full_name": "acme/shop"},
                       "pull_request": {"number": 7, "head": head, "base": base}}).encode()  # fmt: skip
    signature = hmac.new(secret.encode(), body, sha256).hexdigest()
    headers = {"x-github-event": "pull_request", "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={signature}"}  # fmt: skip
    return client.post("/hooks/github", content=body, headers=headers)


def wait_for(shop, text):
    until = time.monotonic() + 60
    while not any(text in each["body"] for each in shop.state.comments):
        assert time.monotonic() < until, shop.state.comments
        time.sleep(0.05)


@pytest.mark.parametrize("pushes", [1, *rarely(3)])
def test_a_notice_is_answered_at_once_and_the_pull_request_soon(site, shop, monkeypatch, pushes):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    given = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": shop.standin.api, "track.repository": "acme/shop",
        "track.token": "OUR_TOKEN", "pr.pause": "0", "webhooks.github": "HOOK_SECRET", "workflow": "review",
    }  # fmt: skip
    site.start(*(f"--set={name}={value}" for name, value in given.items()))
    with site.client(role="") as client:
        assert deliver(client, shop, "d-0").json()["why"] == "acme/shop is not registered here"
        site.register(shop.repo.root)
        assert deliver(client, shop, "d-1", secret="another one").status_code == 401
        assert client.post("/hooks/gitlab", content=b"{}").status_code == 404
        assert client.get("/hooks/github").status_code == 405
        taken = deliver(client, shop, "d-2", action="opened")
        assert (taken.status_code, taken.json()["queued"]) == (202, True)
        wait_for(shop, shop.state.head[:10])
        again = deliver(client, shop, "d-3", action="opened")
        assert (again.status_code, again.json()["why"]) == (202, "it was delivered before")
        shop.repo.git("checkout", "--quiet", "topic")
        for number in range(1, pushes):
            shop.repo.commit({f"b{number}.py": "import re\n"})
            shop.push()
            assert deliver(client, shop, f"p-{number}").json()["queued"]
        wait_for(shop, shop.state.head[:10])
    assert len(shop.state.comments) == 1, "one summary, edited in place"
    assert {each["path"] for each in shop.state.own_threads()} == {
        "a.py",
        *(f"b{number}.py" for number in range(1, pushes)),
    }
    assert "/graphql" not in site.log.read_text(), "requests to the forge are not logged"
    assert SECRET not in site.log.read_text()
    assert TOKEN not in site.log.read_text()
