"""A GitHub App for the stand-ins: checks its JSON Web Tokens for real, and makes tokens that expire, are revoked and allow little."""

import json
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from forge_state import Refused

LEVELS = ("", "read", "write")
ALL = {"metadata": "read", "pull_requests": "write", "issues": "write", "checks": "write", "contents": "write", "security_events": "read"}  # fmt: skip
NEEDS = {
    "/pulls": "pull_requests", "/issues": "issues", "/check-runs": "checks", "/code-scanning": "security_events",
    "/labels": "issues", "/collaborators": "metadata", "/status": "statuses",
}  # fmt: skip
"""What a path below a repository needs."""
FORBIDDEN = "Resource not accessible by integration"


def _decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class MadeToken:
    repository: str
    permissions: dict[str, str]
    until: float
    uses: int


@dataclass
class GithubApp:
    """The App. `key`: the file with its private key, of which GitHub has the public part."""

    key: Path
    id: int = 4242
    client: str = "Iv23liDummyClient"
    slug: str = "punchy"
    installed: dict[str, int] = field(default_factory=lambda: {"acme/shop": 99})
    granted: dict[str, str] = field(default_factory=lambda: dict(ALL))
    suspended: bool = False
    now: Callable[[], float] = time.time
    lasts: float = 3600
    uses: int = 10**9
    """How many requests a token is good for: then it has expired, as if an hour had passed."""
    tokens: dict[str, MadeToken] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """What each token was asked to allow."""
    allowed: dict[str, str] = field(default_factory=dict)
    """What the token of the last request allows."""

    def __post_init__(self) -> None:
        self._public = load_pem_private_key(self.key.read_bytes(), None).public_key()

    def admit(self, method: str, path: str, signature: str) -> None:
        """Raise Refused for a request that this signature does not allow."""
        token = signature.removeprefix("Bearer ")
        if path.startswith("/app") or path.endswith("/installation"):
            self._check_jwt(token)
            return
        made = self._find(token)
        self.allowed = made.permissions
        if path == "/user":
            raise Refused(403, FORBIDDEN)
        if path in ("/graphql", "/search/issues"):
            return
        _, owner, name, *below = path.removeprefix("/repos").split("/")
        if f"{owner}/{name}" != made.repository:
            raise Refused(404, "Not Found")
        rest = "/" + "/".join(below)
        needed = next((need for start, need in NEEDS.items() if start in rest), "metadata")
        level = "read" if method == "GET" else "write"
        if LEVELS.index(made.permissions.get(needed, "")) < LEVELS.index(level):
            raise Refused(403, FORBIDDEN)

    def admits_git(self, name: str, password: str, *, writes: bool) -> bool:
        """Return whether git may fetch, or push, with this login."""
        try:
            made = self._find(password)
        except Refused:
            return False
        level = made.permissions.get("contents", "")
        return name == "x-access-token" and level in (("write",) if writes else ("read", "write"))

    def expire_all(self) -> None:
        self.tokens.clear()

    def answer(self, path: str, body: Any) -> Any:
        """Answer a request as the App itself."""
        if path == "/app":
            return {
                "id": self.id, "client_id": self.client, "slug": self.slug, "name": "Punchy", "node_id": "A_1", "permissions": self.granted,
                "html_url": f"https://github.example/apps/{self.slug}", "description": None,
            }  # fmt: skip
        if path.endswith("/installation"):
            return self._show_installation(
                path.removeprefix("/repos/").removesuffix("/installation")
            )
        return self._make_token(int(path.split("/")[3]), body)

    def _show_installation(self, repository: str) -> dict[str, Any]:
        if repository not in self.installed:
            raise Refused(404, "Not Found")
        number = self.installed[repository]
        return {
            "id": number, "app_id": self.id, "app_slug": self.slug, "permissions": self.granted, "repository_selection": "selected",
            "html_url": f"https://github.example/settings/installations/{number}",
            "suspended_at": "2026-01-01T00:00:00Z" if self.suspended else None,
        }  # fmt: skip

    def _make_token(self, installation: int, body: dict[str, Any]) -> dict[str, Any]:
        if self.suspended:
            raise Refused(403, "This installation has been suspended")
        here = {
            name.partition("/")[2]: name
            for name, number in self.installed.items()
            if number == installation
        }
        if not here:
            raise Refused(404, "Not Found")
        if any(name not in here for name in body["repositories"]):
            raise Refused(
                422,
                "There is at least one repository that does not exist or is not accessible to the parent installation.",
            )
        asked = body["permissions"]
        if any(
            LEVELS.index(level) > LEVELS.index(self.granted.get(name, ""))
            for name, level in asked.items()
        ):
            raise Refused(422, "The permissions requested are not granted to this installation.")
        self.asked.append(body)
        token = f"ghs_dummy{len(self.asked)}of{self.id}"
        until = self.now() + self.lasts
        self.tokens[token] = MadeToken(here[body["repositories"][0]], asked, until, self.uses)
        shown = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "token": token,
            "expires_at": shown,
            "permissions": asked,
            "repository_selection": "selected",
        }

    def _find(self, token: str) -> MadeToken:
        made = self.tokens.get(token)
        if made is None or made.until <= self.now() or made.uses <= 0:
            raise Refused(401, "Bad credentials")
        made.uses -= 1
        return made

    def _check_jwt(self, token: str) -> None:
        undecoded = Refused(401, "A JSON web token could not be decoded")
        try:
            signed, _, signature = token.rpartition(".")
            head, claims = (json.loads(_decode(part)) for part in signed.split("."))
            self._public.verify(
                _decode(signature), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )  # type: ignore[union-attr]
        except (ValueError, InvalidSignature) as error:
            raise undecoded from error
        if head != {"alg": "RS256", "typ": "JWT"}:
            raise undecoded
        if claims["iss"] not in (str(self.id), self.client):
            raise Refused(404, "Integration not found")
        now = self.now()
        if not isinstance(claims["iat"], int) or claims["iat"] > now:
            raise Refused(
                401,
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            )
        if claims["exp"] <= now:
            raise Refused(
                401,
                "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires",
            )
        if claims["exp"] > now + 600:
            raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
