"""How a person's browser comes in: with a token or a code that works once, and from then on with a
cookie that expires.
"""

import hmac
import os
import re
import secrets
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from punchlist.adapters.store.permissions import keep_private
from punchlist.errors import StoreError
from punchlist.web.security.tokens import Kept, Role, Tokens, Visitor

FILE = "cookie.secret"
LASTS = 12 * 3600
_CODE_LASTS = 600
_BYTES = 32
_COOKIE = re.compile(r"([0-9a-f]{8})\.([0-9]{1,12})\.([0-9a-f]{64})")


class Entrance:
    """A cookie says whose it is, until when, and proves both; it is bound to its token, and ends
    when that is dropped.
    """

    def __init__(self, home: Path, tokens: Tokens, clock: Callable[[], float] = time.time) -> None:
        self.tokens = tokens
        self._home = home
        self._clock = clock
        self._secret = b""
        self._codes: dict[str, tuple[float, str]] = {}

    def code(self, role: Role = Role.ADMIN) -> str:
        """Lets whoever started the server in, once, within ten minutes, for as long as the server
        lives.
        """
        made = secrets.token_urlsafe(24)
        known = self.tokens.visitor(self.tokens.make_passing(role, "the owner"))
        if known is not None:
            self._codes[made] = (self._clock() + _CODE_LASTS, known.id)
        return made

    def by_code(self, code: str) -> Visitor | None:
        until, identifier = self._codes.pop(code, (0.0, ""))
        kept = self.tokens.kept(identifier) if self._clock() < until else None
        return kept.visitor if kept else None

    def cookie(self, visitor: Visitor) -> str:
        """What the browser keeps; empty for somebody who is not known any more."""
        kept = self.tokens.kept(visitor.id)
        until = str(int(self._clock()) + LASTS)
        return f"{visitor.id}.{until}.{self._mac(kept, until)}" if kept else ""

    def visitor(self, scope: MutableMapping[str, Any]) -> Visitor | None:
        """Whose cookie came with a request; of several none counts."""
        name = f"{cookie_name(scope.get('server'))}="
        headers = [
            value.decode("latin-1") for key, value in scope["headers"] if key.lower() == b"cookie"
        ]
        given = [part.strip() for header in headers for part in header.split(";")]
        ours = [part.removeprefix(name) for part in given if part.startswith(name)]
        return self.holder(ours[0]) if len(ours) == 1 else None

    def holder(self, cookie: str) -> Visitor | None:
        match = _COOKIE.fullmatch(cookie)
        if match is None or int(match[2]) <= self._clock():
            return None
        kept = self.tokens.kept(match[1])
        return (
            kept.visitor
            if kept and hmac.compare_digest(self._mac(kept, match[2]), match[3])
            else None
        )

    def _mac(self, kept: Kept, until: str) -> str:
        said = f"{kept.visitor.id}.{kept.hash}.{until}"
        return hmac.new(self._key(), said.encode(), sha256).hexdigest()

    def _key(self) -> bytes:
        """In a file, so that a restart of the server ends nobody's session."""
        if not self._secret:
            self._secret = _kept(self._home)
        return self._secret


def cookie_name(server: tuple[str, int | None] | None) -> str:
    """Browsers tell cookies apart by host, not by port: two servers of one machine must not take
    each other's.
    """
    return f"punchlist-{(server or ('', 0))[1]}"


def _kept(home: Path) -> bytes:
    path = home / FILE
    try:
        keep_private(home)
        if not path.exists():
            _made(path)
        secret = path.read_bytes()
    except OSError as error:
        hint = "point PUNCHLIST_HOME at a folder that can be written"
        raise StoreError(
            f"{path}: cannot be read or written: {error.strerror}", hint=hint
        ) from error
    if len(secret) != _BYTES:
        raise StoreError(
            f"{path}: is no secret of ours", hint="remove it; every user signs in again"
        )
    return secret


def _made(path: Path) -> None:
    """Whole or not at all; of two that start at once the first one's is kept."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
