"""Notices of forges about pull requests: verify who sent them, and that they are new."""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256

from msgspec import Struct

from punchlist.adapters.process.run import named_environment
from punchlist.app.pulls.notices import NothingAsked, parse_notice
from punchlist.ports.serving.pull_notices import PullNotice
from punchlist.settings import WebhookSettings

NOTICE_LIMIT = 5 * 1024 * 1024
_LARGE = f"a notice has at most {NOTICE_LIMIT:,} bytes"
_DELIVERY = re.compile(r"[\x21-\x7e]{1,200}")
_LEAST_SECRET = 8


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
FORGES = tuple(_HEADERS)


class HookRefused(Exception):
    """A notice that is not taken; `status` is that of the response."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


def check_hook(forge: str, length: str, settings: WebhookSettings) -> None:
    """Raise HookRefused if the forge is not configured, or the notice will be too large: before
    its body is read.
    """
    if not find_secret(forge, settings):
        raise HookRefused(404, "no webhook is configured here")
    if length.isdecimal() and int(length) > NOTICE_LIMIT:
        raise HookRefused(413, _LARGE)


def read_notice(
    forge: str, headers: Mapping[str, str], body: bytes, settings: WebhookSettings
) -> tuple[str, PullNotice | NothingAsked]:
    """Return the id of the delivery and what it says. Raise HookRefused if the forge is not
    configured, or the sender does not know the secret; UsageError if it is malformed.
    """
    check_hook(forge, str(len(body)), settings)
    names, secret = _HEADERS[forge], find_secret(forge, settings)
    if not is_signed(forge, secret, headers.get(names.proof, ""), body):
        raise HookRefused(401, "the notice is not signed with the secret of this server")
    delivery = next(filter(None, (headers.get(name) for name in names.delivery)), "")
    if not _DELIVERY.fullmatch(delivery):
        raise HookRefused(400, f"the notice has no id ({', '.join(names.delivery)})")
    if body.startswith(b"payload="):
        raise HookRefused(415, "the notice is a form: let the forge send it as JSON")
    return delivery, parse_notice(forge, headers.get(names.event, ""), body)


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


def list_keys(forge: str, delivery: str, body: bytes) -> tuple[str, str]:
    """Return the keys under which a delivery is known. The same body under another id is the same
    delivery: signatures do not cover the id.
    """
    return f"webhook {forge} {delivery}", f"webhook {forge} body {sha256(body).hexdigest()}"
