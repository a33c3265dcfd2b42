"""Notices of forges: only those that know the secret are heard, each once."""

import asyncio
import hmac
import json
from contextlib import closing
from hashlib import sha256

import pytest

from punchlist.adapters.store.serving.records import FileKeys
from punchlist.app.drive.background import RunDriver
from punchlist.app.pulls.pull_queue import PullQueue
from punchlist.app.pulls.webhooks import (
    NOTICE_LIMIT,
    HookRefused,
    PullNotice,
    claim_delivery,
    read_notice,
)
from punchlist.app.session import Session
from punchlist.app.workspace import Workspace
from punchlist.errors import UsageError
from punchlist.ports.serving.records import RepositoryEntry
from punchlist.settings import WebhookSettings

SECRET = "a long secret"
SETTINGS = WebhookSettings(github="HOOK", gitlab="HOOK", gitea="HOOK")
HEAD = "c" * 40


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("HOOK", SECRET)


def pull(action="synchronize", name="acme/shop"):
    head = {"sha": HEAD, "ref": "topic", "repo": {"full_name": "x/y"}}
    base = {"sha": "b" * 40, "ref": "main"}
    return {"action": action, "repository": {"full_name": name},
            "pull_request": {"number": 7, "head": head, "base": base}}  # fmt: skip


def merge(action="update"):
    asked = {"iid": 7, "action": action, "last_commit": {"id": HEAD}}
    return {"object_attributes": asked, "project": {"path_with_namespace": "acme/group/shop"}}


def sent(forge, payload, event="pull_request", *, secret=SECRET, delivery="d-1", **changed):
    """The headers and the body that a forge sends."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    digest = hmac.new(secret.encode(), body, sha256).hexdigest()
    headers = {
        "github": {"x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": f"sha256={digest}"},
        "gitea": {"x-gitea-event": event, "x-gitea-delivery": delivery, "x-gitea-signature": digest},
        "gitlab": {"x-gitlab-event": "Merge Request Hook", "x-gitlab-event-uuid": delivery, "x-gitlab-token": secret},
    }[forge]  # fmt: skip
    return headers | changed, body


def read(forge, *parts, settings=SETTINGS, **changed):
    return read_notice(forge, *sent(forge, *parts, **changed), settings)


@pytest.mark.parametrize(
    ("forge", "payload", "name"),
    [
        ("github", pull(), "acme/shop"),
        ("gitea", pull("synchronized"), "acme/shop"),
        ("gitlab", merge(), "acme/group/shop"),
    ],
)
def test_a_signed_notice_names_its_pull_request(forge, payload, name):
    delivery, notice = read(forge, payload)
    assert (delivery, notice.repository, notice.number, notice.head) == ("d-1", name, 7, HEAD)
    for wrong in ({"secret": "another secret"}, {"secret": ""}):
        with pytest.raises(HookRefused) as refused:
            read(forge, payload, **wrong)
        assert refused.value.status == 401


@pytest.mark.parametrize("proof", ["", "sha256=", "sha256=é", "x" * 64, f"sha1={'0' * 40}"])
def test_a_proof_of_another_form_is_none(proof):
    with pytest.raises(HookRefused, match="not signed"):
        read("github", pull(), **{"x-hub-signature-256": proof})
    headers, body = sent("github", pull())
    with pytest.raises(HookRefused, match="not signed"):
        read_notice("github", headers, body + b" ", SETTINGS)


def test_it_is_off_unless_a_secret_is_there(monkeypatch):
    for settings in (WebhookSettings(), WebhookSettings(github="UNSET")):
        with pytest.raises(HookRefused) as refused:
            read("github", pull(), settings=settings)
        assert refused.value.status == 404
    monkeypatch.setenv("HOOK", "short")
    with pytest.raises(HookRefused, match="no webhook is configured"):
        read("github", pull(), secret="short")
    with pytest.raises(HookRefused, match="no webhook is configured"):
        read_notice("__class__", {}, b"", SETTINGS)


@pytest.mark.parametrize(
    ("payload", "event"),
    [
        (pull("closed"), "pull_request"),
        (pull("labeled"), "pull_request"),
        ({"zen": "x"}, "ping"),
        ({"action": "created", "issue": {"number": 7}, "comment": {"body": "/punchlist again"}}, "issue_comment"),
        ({"action": "created", "issue": {"number": 7, "pull_request": {}}, "comment": {"body": "hi"}}, "issue_comment"),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_heard_and_left(payload, event):
    _, notice = read("github", payload, event)
    assert not notice.number
    assert notice.why


@pytest.mark.parametrize("payload", [b"{", b"\xff", {}, {"pull_request": 7}, b"[" * 100_000])
def test_a_malformed_notice_is_refused(payload):
    with pytest.raises(UsageError, match="the notice is no 'pull_request' of github"):
        read("github", payload)


def test_size_id_and_name_are_bounded():
    with pytest.raises(HookRefused) as refused:
        read("github", b" " * (NOTICE_LIMIT + 1))
    assert refused.value.status == 413
    for delivery in ("", "a b", "x" * 201):
        with pytest.raises(HookRefused, match="has no id"):
            read("github", pull(), delivery=delivery)
    with pytest.raises(HookRefused, match="names no repository"):
        read("github", pull(name="../../x y"))


def test_a_delivery_counts_once_also_under_another_id_and_in_another_process(tmp_path):
    assert claim_delivery(FileKeys(tmp_path), "github", "d-1", b"one")
    assert not claim_delivery(FileKeys(tmp_path), "github", "d-1", b"one")
    assert not claim_delivery(FileKeys(tmp_path), "github", "d-2", b"one"), "replayed"
    assert not claim_delivery(FileKeys(tmp_path), "github", "d-1", b"two")
    assert claim_delivery(FileKeys(tmp_path), "github", "d-3", b"three")
    assert claim_delivery(FileKeys(tmp_path), "gitea", "d-1", b"one")


def test_a_newer_notice_takes_the_place_of_one_that_waits_and_the_queue_is_bounded(tmp_path):
    async def fill():
        with closing(Session(tmp_path, None, {})) as session:
            queue = PullQueue(Workspace(session, RunDriver()))
            repository = RepositoryEntry(id="r", name="shop", root="/x", git_dir="/x/.git")
            for head in ("a" * 40, HEAD):
                assert queue.put(repository, PullNotice(repository="x/y", number=7, head=head))
            assert queue.list_waiting() == ("r 7",)
            for number in range(8, 2000):
                if not queue.put(repository, PullNotice(repository="x/y", number=number)):
                    break
            assert number == 1007, "a thousand wait"
            assert queue.put(repository, PullNotice(repository="x/y", number=7)), "it waits already"

    asyncio.run(fill())
