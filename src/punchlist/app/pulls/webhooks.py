"""Notices of forges about pull requests: verify who sent them, and read what they say."""

import hmac
import re
import secrets
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from punchlist.adapters.process.run import named_environment
from punchlist.app.ci.payload import (
    COMMENTS,
    CommentPayload,
    MergePayload,
    NoticePayload,
    PullPayload,
    parse_payload,
)
from punchlist.ports.serving.records import KeyRecord, RequestKeys
from punchlist.settings import WebhookSettings

NOTICE_LIMIT = 5 * 1024 * 1024
_DELIVERY = re.compile(r"[\x21-\x7e]{1,200}")
_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+", re.ASCII)
_LEAST_SECRET = 8
_ACTIONS = frozenset(
    {"opened", "reopened", "synchronize", "synchronized", "ready_for_review", "edited"}
)
_MERGE_ACTIONS = frozenset({"open", "reopen", "update"})


class _Headers(Struct, frozen=True, kw_only=True):
    """The names of a forge's headers; of several deliveries the first that is sent counts."""

    proof: str
    event: str
    delivery: tuple[str, ...]


_HEADERS = {
    "github": _Headers(
        proof="x-hub-signature-256", event="x-github-event", delivery=("x-github-delivery",)
    ),
    "gitea": _Headers(
        proof="x-gitea-signature", event="x-gitea-event", delivery=("x-gitea-delivery",)
    ),
    "gitlab": _Headers(
        proof="x-gitlab-token",
        event="x-gitlab-event",
        delivery=("idempotency-key", "x-gitlab-event-uuid"),
    ),
}


class PullNotice(Struct, frozen=True, kw_only=True):
    """What a forge says of a pull request. `number` 0: nothing that asks for a run, and `why`."""

    repository: str = ""
    number: int = 0
    head: str = ""
    why: str = ""


class HookRefused(Exception):
    """A notice that is not taken; `status` is that of the response."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


def read_notice(
    forge: str, headers: Mapping[str, str], body: bytes, settings: WebhookSettings
) -> tuple[str, PullNotice]:
    """Return the id of the delivery and what it says. Raise HookRefused if the forge is not
    configured, or the sender does not know the secret; UsageError if it is malformed.
    """
    names, secret = _HEADERS.get(forge), find_secret(forge, settings)
    if names is None or not secret:
        raise HookRefused(404, "no webhook is configured here")
    if len(body) > NOTICE_LIMIT:
        raise HookRefused(413, f"a notice has at most {NOTICE_LIMIT:,} bytes")
    if not is_signed(forge, secret, headers.get(names.proof, ""), body):
        raise HookRefused(401, "the notice is not signed with the secret of this server")
    delivery = next(filter(None, (headers.get(name) for name in names.delivery)), "")
    if not _DELIVERY.fullmatch(delivery):
        raise HookRefused(400, f"the notice has no id ({', '.join(names.delivery)})")
    return delivery, _parse_notice(forge, headers.get(names.event, ""), body)


def find_secret(forge: str, settings: WebhookSettings) -> str:
    """Return the secret of a forge from the variable that the settings name; '' if there is none,
    or if it is too short to be one.
    """
    variable = getattr(settings, forge, "") if forge in _HEADERS else ""
    secret = named_environment([variable] if variable else []).get(variable, "")
    return secret if len(secret) >= _LEAST_SECRET else ""


def is_signed(forge: str, secret: str, proof: str, body: bytes) -> bool:
    """Return whether the proof is right, in a time that does not depend on how much of it is."""
    given = proof.encode("utf-8", "replace")
    if forge == "gitlab":
        return hmac.compare_digest(given, secret.encode())
    digest = hmac.new(secret.encode(), body, sha256).hexdigest()
    wanted = f"sha256={digest}" if forge == "github" else digest
    return hmac.compare_digest(given, wanted.encode())


def claim_delivery(keys: RequestKeys, forge: str, delivery: str, body: bytes) -> bool:
    """Return whether the delivery is new; it is recorded. The same body under another id is not
    new either: signatures do not cover the id.
    """
    digest = sha256(body).hexdigest()
    own = secrets.token_hex(16)
    names = (f"webhook {forge} {delivery}", f"webhook {forge} body {digest}")
    return all(keys.claim(name, KeyRecord(digest, own)).run == own for name in names)


def _parse_notice(forge: str, event: str, body: bytes) -> PullNotice:
    what = f"the notice is no {event[:60]!a} of {forge}"
    if forge == "gitlab":
        return _read_merge_request(event, body, what)
    if event == "pull_request":
        found = parse_payload(body, what, PullPayload)
        if found.action not in _ACTIONS:
            return PullNotice(why=f"{found.action[:40]!a} asks for nothing")
        return _name_pull(body, what, found.pull_request.number, found.pull_request.head.sha)
    if event in COMMENTS:
        return _read_order(body, what)
    return PullNotice(why=f"{event[:40]!a} asks for nothing")


def _read_order(body: bytes, what: str) -> PullNotice:
    found = parse_payload(body, what, CommentPayload)
    pull = found.pull_request or (found.issue if found.issue and found.issue.pull_request else None)
    said = found.comment or found.review
    if pull is None or said is None or not said.has_order or found.action == "deleted":
        return PullNotice(why="the comment has no order for punchlist")
    return _name_pull(body, what, pull.number, "")


def _read_merge_request(event: str, body: bytes, what: str) -> PullNotice:
    if event != "Merge Request Hook":
        return PullNotice(why=f"{event[:40]!a} asks for nothing")
    found = parse_payload(body, what, MergePayload)
    asked = found.object_attributes
    if asked.action not in _MERGE_ACTIONS:
        return PullNotice(why=f"{asked.action[:40]!a} asks for nothing")
    name = found.project.path_with_namespace
    return PullNotice(repository=_check_name(name), number=asked.iid, head=asked.last_commit.id)


def _name_pull(body: bytes, what: str, number: int, head: str) -> PullNotice:
    repository = parse_payload(body, what, NoticePayload).repository
    return PullNotice(repository=_check_name(repository.full_name), number=number, head=head)


def _check_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise HookRefused(400, "the notice names no repository")
    return name
