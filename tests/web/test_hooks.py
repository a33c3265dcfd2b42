"""A server that a forge gives notice answers the pull request, also after it was killed; real git, forges on loopback."""

import hmac
import json
import time
from hashlib import sha256

import pytest
from browsing import Browser, text_of
from forge_kinds import KINDS
from forge_standin import TOKEN
from test_cli_pr import Shop

from needs import rarely
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger.fold import fold_entries

SECRET = "a long secret"


@pytest.fixture
def kind(request):
    return KINDS[getattr(request, "param", "github")]


@pytest.fixture
def shop(repo, tmp_path, kind, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    with kind.server() as standin:
        made = Shop(repo, tmp_path, kind, standin)
        made.begin({"README": "shop"}, {"a.py": "import os\n\n\nX = 1\n"})
        yield made
        assert standin.state.problems == []


def start(site, shop, **more):
    given = {
        "analyzers.enabled": "ruff", "analyzers.select": "F", "track.api": shop.standin.api, "track.repository": shop.kind.repository,
        "track.token": "OUR_TOKEN", "pr.pause": "0", "workflow": "review", **{f"webhooks.{name}": "HOOK_SECRET" for name in KINDS}, **more,
    }  # fmt: skip
    return site.start(*(f"--set={name}={value}" for name, value in given.items()))


def send(client, payload, delivery, event="pull_request", *, forge="github", secret=SECRET):
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    digest = hmac.new(secret.encode(), body, sha256).hexdigest()
    headers = {
        "github": {"x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={digest}"},
        "gitea": {"x-gitea-event": event, "x-gitea-delivery": delivery, "x-gitea-signature": digest},
        "gitlab": {"x-gitlab-event": event, "x-gitlab-event-uuid": delivery, "x-gitlab-token": secret},
    }[forge]  # fmt: skip
    return client.post(f"/hooks/{forge}", content=body, headers=headers)


def pushed(shop, action="synchronize", number=7, name="acme/shop"):
    head = {"sha": shop.state.head, "ref": "topic", "repo": {"full_name": "acme/shop"}}
    base = {"sha": shop.state.base, "ref": "main"}
    return {"action": action, "repository": {"full_name": name},
            "pull_request": {"number": number, "head": head, "base": base}}  # fmt: skip


def wait_for(true, told=lambda: ""):
    until = time.monotonic() + 60
    while not (found := true()):
        assert time.monotonic() < until, told()
        time.sleep(0.05)
    return found


def wait_comment(shop, text):
    wait_for(lambda: any(text in each["body"] for each in shop.state.comments), lambda: shop.state)


@pytest.mark.parametrize("pushes", [1, *rarely(3)])
def test_a_notice_is_answered_at_once_and_the_pull_request_soon(site, shop, pushes):
    start(site, shop)
    with site.client(role="") as client:
        first = send(client, pushed(shop), "d-0")
        assert first.json()["why"] == "acme/shop is not registered here"
        site.register(shop.repo.root)
        assert send(client, pushed(shop), "d-1", secret="another one").status_code == 401
        assert client.get("/hooks/github").status_code == 405
        taken = send(client, pushed(shop), "d-0")
        assert (taken.status_code, taken.json()["queued"]) == (202, True), "it was not taken before"
        wait_comment(shop, shop.state.head[:10])
        again = send(client, pushed(shop), "d-3")
        assert (again.status_code, again.json()["why"]) == (202, "it was delivered before")
        shop.repo.git("checkout", "--quiet", "topic")
        for number in range(1, pushes):
            shop.repo.commit({f"b{number}.py": "import re\n"})
            shop.push()
            assert send(client, pushed(shop), f"p-{number}").json()["queued"]
        wait_comment(shop, shop.state.head[:10])
    assert len(shop.state.comments) == 1, "one summary, edited in place"
    assert {each["path"] for each in shop.state.own_threads()} == {
        "a.py",
        *(f"b{number}.py" for number in range(1, pushes)),
    }
    assert "/graphql" not in site.log.read_text(), "requests to the forge are not logged"
    assert SECRET not in site.log.read_text()
    assert TOKEN not in site.log.read_text()


def test_a_notice_outlives_the_server_and_what_cannot_be_answered_is_shown(site, shop, monkeypatch):
    monkeypatch.delenv("OUR_TOKEN")
    start(site, shop, **{"track.token": "OUR_TOKEN"})
    site.register(shop.repo.root)
    with site.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["queued"]
    wait_for(lambda: "acme/shop 7 is not answered yet" in site.log.read_text())
    with Browser(site, "read") as browser:
        page = text_of(browser.get("/pulls").text)
    assert "acme/shop#7" in page
    assert "tried once, again" in page
    assert "there is no token for" in page
    site.kill()
    monkeypatch.setenv("OUR_TOKEN", TOKEN)
    start(site, shop)
    with site.client(role="") as client:
        assert send(client, pushed(shop, number=8), "d-8").json()["queued"]
        wait_comment(shop, shop.state.head[:10])
        assert send(client, pushed(shop), "d-2").json()["why"] == "it was delivered before"
        wait_for(lambda: "acme/shop 8 is not answered: " in site.log.read_text())
        with Browser(site, "read") as browser:
            wait_for(lambda: "acme/shop#7" not in text_of(browser.get("/pulls").text))
            page = text_of(browser.get("/pulls").text)
        assert "acme/shop#8" in page
        assert "not answered" in page
        assert "GitHub answered 404" in page
        assert send(client, pushed(shop, number=8), "d-8").json()["queued"], "a person insists"
    assert len(shop.state.comments) == 1
    with SqliteStore.open(site.home) as store:
        assert len(store.runs()) == 1


@pytest.mark.soak
def test_killed_while_it_posts_it_goes_on_and_nothing_is_there_twice(site, shop):
    start(site, shop)
    site.register(shop.repo.root)
    shop.state.hold_after = 1
    with site.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["queued"]
    assert shop.state.held.wait(60)
    site.kill()
    shop.state.release.set()
    start(site, shop)
    wait_for(shop.state.concluded)
    wait_comment(shop, shop.state.head[:10])
    assert [len(shop.state.comments), len(shop.state.own_threads())] == [1, 1]
    with SqliteStore.open(site.home) as store:
        assert len(store.runs()) == 1


def test_hostile_notices_are_refused_with_the_reason_and_none_is_kept(site, shop):
    start(site, shop)
    site.register(shop.repo.root)
    with site.client(role="") as client:
        for given, status, why in (
            ({"payload": pushed(shop), "secret": "x" * 20}, 401, "not signed"),
            ({"payload": b"x" * (5 * 2**20 + 1)}, 413, "at most 5,242,880 bytes"),
            ({"payload": b"{}"}, 400, "the notice is no 'pull_request' of github"),
            ({"payload": b"payload=%7B%7D"}, 415, "as JSON"),
            ({"payload": pushed(shop, name="acme/../shop")}, 400, "names no repository"),
            ({"payload": pushed(shop), "delivery": "a b"}, 400, "has no id"),
        ):  # fmt: skip
            refused = send(client, **{"delivery": "d", **given})
            assert refused.status_code == status, refused.text
            assert why in refused.json()["what"] + refused.json()["next"]
        for name in ("acme/shop2", "evil/acme/shop", "acme/sho\u212a"[:8] + "p2"):
            told = send(client, pushed(shop, name=name), f"d {name}".replace(" ", "-"))
            assert told.json() == {"queued": False, "why": f"{name} is not registered here"}
        told = {"iid": 7, "action": "open", "last_commit": {"id": shop.state.head}}
        payload = {"object_attributes": told, "project": {"path_with_namespace": "acme/shop"}}
        elsewhere = send(client, payload, "d", "Merge Request Hook", forge="gitlab")
        assert elsewhere.json()["why"] == "acme/shop is not registered here", "it is on GitHub"
        assert client.post("/hooks/other", content=b"{}").status_code == 404
        large = client.post("/hooks/github", content=iter([b"x" * 2**20] * 9))
        assert large.status_code == 413
    with SqliteStore.open(site.home) as store, store.transaction() as base:
        assert base.execute("SELECT count(*) FROM pull_notices").fetchone()[0] == 0
        assert base.execute("SELECT count(*) FROM notice_keys").fetchone()[0] == 0
        rows = [("elsewhere", n, "none", "a/b", "", "", "s", 0, 0) for n in range(1000)]
        columns = 'place, number, forge, repository, head, "group", stamp, at, due'
        marks = ", ".join("?" * 9)
        base.executemany(f"INSERT INTO pull_notices ({columns}) VALUES ({marks})", rows)
    with site.client(role="") as client:
        full = send(client, pushed(shop), "d-9")
        assert (full.status_code, full.json()["what"]) == (503, "too many pull requests wait")
        assert full.headers["retry-after"] == "60"
        with SqliteStore.open(site.home) as store, store.transaction() as base:
            base.execute("DELETE FROM pull_notices WHERE number > 9")
        assert send(client, pushed(shop), "d-9").json()["queued"], "it was not taken before"
    wait_comment(shop, shop.state.head[:10])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_an_order_in_a_comment_is_obeyed_without_a_push(site, shop, kind):
    start(site, shop)
    site.register(shop.repo.root)
    name = {"full_name": kind.repository}
    merged = {"iid": 7, "action": "open", "last_commit": {"id": shop.state.head}}
    project = {"path_with_namespace": kind.repository}
    opened = {
        "gitlab": ("Merge Request Hook", {"object_attributes": merged, "project": project})
    }.get(kind.name, ("pull_request", pushed(shop, "opened", name=kind.repository)))
    with site.client(role="") as client:
        assert send(client, opened[1], "d-1", opened[0], forge=kind.name).json()["queued"]
        wait_comment(shop, shop.state.head[:10])
        order = "/punchlist dismiss it is wanted"
        thread = wait_for(shop.state.own_threads)[0]
        shop.state.reply(thread, order, "ann")
        said = {"note": order, "noteable_type": "MergeRequest"}
        event, payload = {
            "github": ("pull_request_review_comment", {"action": "created", "comment": {"body": order}, "pull_request": {"number": 7}, "repository": name}),
            "gitlab": ("Note Hook", {"object_attributes": said, "merge_request": merged, "project": project}),
            "gitea": ("pull_request_comment", {"action": "reviewed", "review": {"content": ""}, "pull_request": {"number": 7}, "repository": name}),
        }[kind.name]  # fmt: skip
        assert send(client, payload, "d-2", event, forge=kind.name).json()["queued"]
        wait_for(lambda: thread["resolved"] or "dismissed" in str(thread["comments"][1:]).lower())


@pytest.mark.soak
def test_a_check_asked_for_once_more_is_one_more_run_and_a_resolved_thread_a_dismissal(site, shop):
    start(site, shop)
    site.register(shop.repo.root)
    about = {"repository": {"full_name": "acme/shop"}}
    pull = {"number": 7, "head": {"sha": shop.state.head}}
    asked = {"action": "rerequested", "check_run": {"name": "punchlist", "pull_requests": [pull]}}
    resolved = {"action": "resolved", "pull_request": pull, "sender": {"type": "User"}}

    def wait_answered(runs):
        with SqliteStore.open(site.home) as store:
            wait_for(lambda: not store.fetch_rows("SELECT 1 FROM pull_notices", ()))
            assert len(store.runs()) == runs
            return store.runs()[0].id

    with site.client(role="") as client:
        assert send(client, pushed(shop), "d-1").json()["queued"]
        wait_comment(shop, shop.state.head[:10])
        wait_answered(1)
        assert send(client, {**about, **asked}, "d-2", "check_run").json()["queued"]
        wait_answered(2)
        merged = {"head_sha": "e" * 40, "base_sha": shop.state.base, "base_ref": "refs/heads/main"}
        merged["head_ref"] = f"refs/heads/gh-readonly-queue/main/pr-7-{shop.state.base}"
        group = {**about, "action": "checks_requested", "merge_group": merged}
        assert send(client, group, "d-q", "merge_group").json()["queued"]
        wait_answered(2)
        verdicts = dict(shop.state.concluded())
        assert verdicts["e" * 40] == verdicts[shop.state.head] == "failure"
        shop.state.own_threads()[0]["resolved"] = "ann"
        thread = {**about, **resolved}
        assert send(client, thread, "d-3", "pull_request_review_thread").json()["queued"]
        run = wait_answered(2)
    with SqliteStore.open(site.home) as store:
        (item,) = fold_entries(run, store.read(run)).items.values()
    assert item.status == "dismissed"


@pytest.mark.soak
def test_a_pull_request_that_waits_for_its_turn_is_answered_when_there_is_room(site, shop):
    """One run at a time: the others are put off, and none is dropped."""
    start(site, shop, **{"serve.runs": 1})
    site.register(shop.repo.root)
    with site.client() as client:
        place = client.get("/api/repositories").json()[0]["id"]
        asked = {"repository_id": place, "kind": "all", "workflow": "review"}
        client.post("/api/runs", json=asked)
        for number in range(3):
            assert send(client, pushed(shop), f"d-{number}").json()["queued"]
            shop.repo.git("checkout", "--quiet", "topic")
            shop.repo.commit({f"c{number}.py": "import re\n"})
            shop.push()
        assert send(client, pushed(shop), "d-9").json()["queued"]
        wait_comment(shop, shop.state.head[:10])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS, indirect=True)
def test_a_server_keeps_the_pull_request_with_fixes_and_does_not_review_it(site, shop):
    """Notices about punchlist's own pull request end with a neutral check, and none leads to a further one."""
    start(
        site, shop, **{"pr.fixes": "stack", "workflow": "verified", "track.forge": shop.kind.name}
    )
    site.register(shop.repo.root)
    state, forge = shop.state, shop.kind.name
    event = "Merge Request Hook" if forge == "gitlab" else "pull_request"

    def tell(action, number, delivery):
        payload = pushed(shop, action, number)
        if forge == "gitlab":
            words = {"opened": "open", "closed": "merge"}
            asked = {"iid": number, "action": words[action], "last_commit": {"id": state.head}}
            payload = {
                "object_attributes": asked,
                "project": {"path_with_namespace": shop.kind.repository},
            }
        with site.client(role="") as client:
            assert send(client, payload, delivery, event, forge=forge).json()["queued"]

    tell("opened", 7, "d-1")
    wait_for(state.concluded, site.log.read_text)
    assert [(each["head"], each["state"]) for each in state.pulls] == [("punchlist/pr-7", "open")]
    tell("opened", 8, "d-2")
    tip = shop.read_branch("punchlist/pr-7")
    wait_for(lambda: (tip, "neutral") in state.concluded(), site.log.read_text)
    state.state = "closed"
    tell("closed", 7, "d-3")
    wait_for(lambda: not shop.read_branch("punchlist/pr-7"), site.log.read_text)
    assert [each["state"] for each in state.pulls] == ["closed"]
    assert "is not answered" not in site.log.read_text()
