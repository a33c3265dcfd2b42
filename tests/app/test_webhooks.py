"""Notices of forges: only those that know the secret are heard, and each says what it asks for."""

import hmac
import json
from hashlib import sha256

import pytest

from punchlist.app.pulls.notices import READERS as EVENTS
from punchlist.app.pulls.notices import NothingAsked
from punchlist.app.pulls.webhooks import NOTICE_LIMIT, HookRefused, list_keys, read_notice
from punchlist.errors import UsageError
from punchlist.ports.serving.pull_notices import PullNotice
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
        "gitlab": {"x-gitlab-event": "Merge Request Hook" if event == "pull_request" else event, "x-gitlab-event-uuid": delivery, "x-gitlab-token": secret},
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


ORDER = "/punchlist again"
NUMBER = {"number": 7}
ON_PULL = {"number": 7, "pull_request": {"url": "x"}}
FORGES = ("github", "gitea", "gitlab")


def about(**parts):
    return {"repository": {"full_name": "acme/shop"}, **parts}


def said(text, action="created", **parts):
    return about(action=action, comment={"body": text}, **parts)


def reviewed(text, state="commented", action="submitted"):
    return about(action=action, review={"body": text, "state": state}, pull_request=NUMBER)


def reviewed_there(text):
    kind = "pull_request_review_comment"
    return about(action="reviewed", review={"type": kind, "content": text}, pull_request=NUMBER)


def thread(action="resolved", who="User"):
    return about(action=action, thread={"node_id": "x"}, sender={"type": who}, pull_request=NUMBER)


def check(action="rerequested", kind="check_run", name="punchlist", pulls=({"number": 7, "head": {"sha": HEAD}},)):  # fmt: skip
    return about(**{"action": action, kind: {"name": name, "pull_requests": pulls}})


def group(action="checks_requested", branch=f"gh-readonly-queue/main/pr-7-{'b' * 40}"):
    made = {"head_sha": HEAD, "head_ref": f"refs/heads/{branch}", "base_sha": "b" * 40, "base_ref": "refs/heads/main"}  # fmt: skip
    return about(action=action, merge_group=made)


def note(text, kind="MergeRequest", *, system=False, **parts):
    told = {"note": text, "noteable_type": kind, "system": system, "action": "create", **parts}
    request = {"iid": 7, "last_commit": {"id": HEAD}} if kind == "MergeRequest" else None
    return {"object_attributes": told, "project": {"path_with_namespace": "acme/shop"}, "merge_request": request}  # fmt: skip


@pytest.mark.parametrize(
    ("forge", "event", "payload"),
    [
        ("github", "issue_comment", said(ORDER, issue=ON_PULL)),
        ("github", "issue_comment", said(f"{ORDER}\nplease", "edited", issue=ON_PULL)),
        ("github", "pull_request_review_comment", said(ORDER, pull_request=NUMBER)),
        ("github", "pull_request_review", reviewed(ORDER)),
        ("github", "pull_request_review", reviewed("no", "changes_requested")),
        ("github", "pull_request_review", reviewed(None, "changes_requested")),
        ("github", "pull_request_review_thread", thread()),
        ("github", "pull_request_review_thread", thread("unresolved")),
        ("gitea", "issue_comment", said(ORDER, issue=ON_PULL)),
        ("gitea", "pull_request_comment", reviewed_there(ORDER)),
        ("gitea", "pull_request_comment", reviewed_there("")),
        ("gitea", "pull_request_review_comment", reviewed_there(ORDER)),
        ("gitea", "pull_request_approved", reviewed_there(ORDER)),
        ("gitea", "pull_request_rejected", reviewed_there("no")),
        ("gitea", "pull_request_review_rejected", reviewed_there("")),
        ("gitlab", "Note Hook", note(ORDER)),
        ("gitlab", "Note Hook", note(ORDER, action="update")),
    ],
)
def test_an_order_a_rejection_and_a_resolved_thread_ask_for_a_look(forge, event, payload):
    _, notice = read(forge, payload, event)
    assert notice == PullNotice(forge=forge, repository="acme/shop", number=7)


@pytest.mark.parametrize(
    ("forge", "event", "payload"),
    [
        ("github", "pull_request", pull("closed")),
        ("gitea", "pull_request", pull("closed")),
        ("gitlab", "Merge Request Hook", merge("merge")),
        ("gitlab", "Merge Request Hook", merge("close")),
    ],
)
def test_the_end_of_a_pull_request_asks_for_a_look_and_for_no_run(forge, event, payload):
    _, notice = read(forge, payload, event)
    assert (notice.number, notice.head, notice.again) == (7, "", False)


def test_a_merge_queue_that_asks_for_a_check_gets_the_verdict_of_the_pull_request():
    _, notice = read("github", group(), "merge_group")
    assert (notice.number, notice.group, notice.head) == (7, HEAD, "")


@pytest.mark.parametrize("kind", ["check_run", "check_suite"])
def test_a_check_that_a_person_wants_once_more_asks_for_another_run(kind):
    _, notice = read("github", check(kind=kind), kind)
    assert (notice.number, notice.head, notice.again) == (7, HEAD, True)


@pytest.mark.parametrize(
    ("forge", "event", "payload", "why"),
    [
        ("github", "pull_request", pull("labeled"), "'labeled' asks for nothing"),
        ("github", "ping", {"zen": "x"}, "the webhook is set up"),
        ("github", "merge_group", group("destroyed"), "'destroyed' asks for nothing"),
        ("github", "merge_group", group(branch="topic"), "names no pull request"),
        ("github", "push", {}, "a notice of its own"),
        ("github", "\x1b]", {}, "asks for nothing"),
        ("github", "issue_comment", said(ORDER, issue=NUMBER), "no order"),
        ("github", "issue_comment", said("hi", issue=ON_PULL), "no order"),
        ("github", "issue_comment", said(f"> {ORDER}", issue=ON_PULL), "no order"),
        ("github", "issue_comment", said(f"please\n{ORDER}", issue=ON_PULL), "no order"),
        ("github", "issue_comment", said(ORDER, "deleted", issue=ON_PULL), "'deleted' asks"),
        ("github", "pull_request_review", reviewed("fine", "approved"), "neither requests changes"),
        ("github", "pull_request_review", reviewed(ORDER, "dismissed", "dismissed"), "neither requests"),
        ("github", "pull_request_review_thread", thread(who="Bot"), "a bot did that"),
        ("github", "check_run", check("completed"), "'completed' asks for nothing"),
        ("github", "check_run", check(name="another"), "'another' is not ours"),
        ("github", "check_run", check(pulls=()), "names no pull request"),
        ("gitea", "pull_request_comment", reviewed_there("hi"), "neither requests changes"),
        ("gitea", "pull_request_approved", reviewed_there(""), "no order"),
        ("gitlab", "Note Hook", note("hi"), "no order"),
        ("gitlab", "Note Hook", note(None), "no order"),
        ("gitlab", "Note Hook", note(ORDER, system=True), "no order"),
        ("gitlab", "Note Hook", note(ORDER, "Issue"), "not on a merge request"),
        ("gitlab", "Note Hook", note(ORDER, internal=True), "internal comments are left out"),
        ("gitlab", "Confidential Note Hook", note(ORDER), "internal comments are left out"),
        ("gitlab", "Emoji Hook", {}, "'Emoji Hook' asks for nothing"),
        ("gitlab", "Merge Request Hook", merge("approved"), "'approved' asks for nothing"),
    ],
)  # fmt: skip
def test_what_asks_for_nothing_is_heard_and_left_with_the_reason(forge, event, payload, why):
    _, notice = read(forge, payload, event)
    assert isinstance(notice, NothingAsked)
    assert why in notice.why
    assert notice.why.isprintable()


@pytest.mark.parametrize(
    ("forge", "event"), [(forge, event) for forge in FORGES for event in EVENTS[forge]]
)
@pytest.mark.parametrize("payload", [b"", b"[]", {"pull_request": {"number": 0}, "object_attributes": {"iid": -1}}, {"pull_request": {"number": "7"}, "check_run": [], "object_attributes": {"note": 7}, "issue": 7}])  # fmt: skip
def test_no_event_with_missing_or_wrong_fields_is_taken(forge, event, payload):
    said = f"the notice is no {event!a} of {forge}"
    try:
        told = read(forge, payload, event)[1].why
    except UsageError as error:
        told = str(error)
    assert told.startswith((said, "'' asks for nothing", "the "))


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
    for name in ("../../x y", "../shop", "acme/..", "acme/./shop", "shop", "acme//shop", "", "é/x", "a/" * 999 + "b", "acme/shop\n"):  # fmt: skip
        with pytest.raises(UsageError, match="names no repository"):
            read("github", pull(name=name))
    _, notice = read("github", {**pull(), "pull_request": {**pull()["pull_request"], "head": {"sha": "--force", "ref": ""}}})  # fmt: skip
    assert notice.head == "", "what is no commit counts as none"


def test_a_delivery_is_known_by_its_id_and_by_its_body():
    one = list_keys("github", "d-1", b"one")
    assert set(one) & set(list_keys("github", "d-2", b"one")), "replayed"
    assert set(one) & set(list_keys("github", "d-1", b"two"))
    assert not set(one) & set(list_keys("github", "d-2", b"two"))
    assert not set(one) & set(list_keys("gitea", "d-1", b"one"))
