"""Browser sessions: sign in with a token or a one-time code, then a cookie that expires."""

import hmac
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from hashlib import sha256
from typing import Any

from punchlist.ports.serving.access import Role, SignInCode, StoredToken, Visitor
from punchlist.web.security.tokens import Tokens, hash_secret

LASTS = 12 * 3600
_CODE_LASTS = 600
_COOKIE = re.compile(r"([0-9a-f]{8})\.([0-9]{1,12}\.[0-9a-f]{16})\.([0-9a-f]{64})")


class Sessions:
    """Cookies hold token id, expiry and a MAC of both; they end when the token is dropped."""

    def __init__(self, tokens: Tokens, clock: Callable[[], float] = time.time) -> None:
        self.tokens = tokens
        self._access = tokens.access
        self._clock = clock
        self._secret = b""

    def issue_code(self) -> str:
        """Return a code that signs in an admin once, within ten minutes, while this server runs."""
        code = secrets.token_urlsafe(24)
        _, owner = self.tokens.create_temporary(Role.ADMIN, "the owner")
        until = self._clock() + _CODE_LASTS
        self._access.add_code(hash_secret(code), SignInCode(owner.id, until))
        return code

    def redeem_code(self, code: str) -> Visitor | None:
        found = self._access.take_code(hash_secret(code))
        if found is None or self._clock() >= found.until:
            return None
        kept = self.tokens.find_token(found.token)
        return kept.visitor if kept else None

    def issue_cookie(self, visitor: Visitor) -> str:
        """Return the cookie's value; empty if the visitor's token was dropped."""
        kept = self.tokens.find_token(visitor.id)
        until = f"{int(self._clock()) + LASTS}.{secrets.token_hex(8)}"
        return f"{visitor.id}.{until}.{self._compute_mac(kept, until)}" if kept else ""

    def end_session(self, scope: MutableMapping[str, Any]) -> None:
        """Make the request's cookie worthless, also after a restart and wherever it was copied."""
        cookie = self._find_cookie(scope)
        if self.verify_cookie(cookie) is None:
            return
        now = self._clock()
        self._access.end_session(cookie.split(".")[2], now, now + LASTS)

    def find_visitor(self, scope: MutableMapping[str, Any]) -> Visitor | None:
        """Return the visitor of the request's cookie; None without one, or with several."""
        return self.verify_cookie(self._find_cookie(scope))

    def _find_cookie(self, scope: MutableMapping[str, Any]) -> str:
        name = f"{cookie_name(scope)}="
        headers = [
            value.decode("latin-1") for key, value in scope["headers"] if key.lower() == b"cookie"
        ]
        given = [part.strip() for header in headers for part in header.split(";")]
        ours = [part.removeprefix(name) for part in given if part.startswith(name)]
        return ours[0] if len(ours) == 1 else ""

    def verify_cookie(self, cookie: str) -> Visitor | None:
        match = _COOKIE.fullmatch(cookie)
        if match is None or int(match[2].partition(".")[0]) <= self._clock():
            return None
        kept = self.tokens.find_token(match[1])
        if kept is None or not hmac.compare_digest(self._compute_mac(kept, match[2]), match[3]):
            return None
        return None if self._access.has_ended(match[2].partition(".")[2]) else kept.visitor

    def _compute_mac(self, kept: StoredToken, until: str) -> str:
        text = f"{kept.visitor.id}.{kept.hash}.{until}"
        return hmac.new(self._load_key(), text.encode(), sha256).hexdigest()

    def _load_key(self) -> bytes:
        if not self._secret:
            self._secret = self._access.load_key()
        return self._secret


def cookie_name(scope: MutableMapping[str, Any]) -> str:
    """Return the cookie's name, with the port that the browser calls: it shares cookies between
    ports, and a proxy may stand before servers with ports of their own.
    """
    host = next((value for key, value in scope["headers"] if key.lower() == b"host"), b"")
    _, _, port = host.decode("latin-1").rpartition(":")
    return f"punchlist-{port if port.isascii() and port.isdigit() else 0}"
