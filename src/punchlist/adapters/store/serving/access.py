"""Tokens and signed-out sessions in files; temporary tokens and codes in memory."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.store.errors import convert_errors
from punchlist.adapters.store.permissions import keep_private
from punchlist.adapters.store.serving.files import JsonFile
from punchlist.errors import StoreError
from punchlist.ports.serving.access import SignInCode, StoredToken

SECRET = "cookie.secret"  # noqa: S105 - the name of a file
_BYTES = 32


class FileAccess:
    def __init__(self, home: Path) -> None:
        self._home = home
        self._tokens: JsonFile[tuple[StoredToken, ...]] = JsonFile(
            home, "tokens.json", (), tuple[StoredToken, ...], "remove it, and make new tokens"
        )
        self._ended: JsonFile[dict[str, float]] = JsonFile(
            home, "signed-out.json", {}, dict[str, float]
        )
        self._temporary: tuple[StoredToken, ...] = ()
        self._codes: dict[str, SignInCode] = {}

    def list_tokens(self) -> tuple[StoredToken, ...]:
        return self._tokens.read()

    def add_token(self, token: StoredToken, *, temporary: bool = False) -> None:
        """Keep a token; a temporary one is in no file."""
        if temporary:
            self._temporary = (*self._temporary, token)
        else:
            self._tokens.change(lambda known: (*known, token))

    def drop_token(self, identifier: str) -> bool:
        """Delete a token; return whether there was one."""
        return self._tokens.change(
            lambda known: tuple(each for each in known if each.visitor.id != identifier)
        )

    def find_by_hash(self, hashed: str) -> StoredToken | None:
        known = (*self._temporary, *self._tokens.read())
        found = (each for each in known if secrets.compare_digest(each.hash, hashed))
        return next(found, None)

    def find_by_id(self, identifier: str) -> StoredToken | None:
        known = (*self._temporary, *self._tokens.read())
        return next((each for each in known if each.visitor.id == identifier), None)

    def load_key(self) -> bytes:
        """Return the key of the cookies; it is in a file, so that sessions survive a restart."""
        path = self._home / SECRET
        with convert_errors(path, "read or written"):
            keep_private(self._home)
            if not path_exists(path):
                _create_secret(path)
            secret = path.read_bytes()
        if len(secret) != _BYTES:
            hint = "remove it; all users sign in again"
            raise StoreError(f"{path}: is no secret of ours", hint=hint)
        return secret

    def end_session(self, session: str, now: float, until: float) -> None:
        self._ended.change(
            lambda known: {
                **{name: end for name, end in known.items() if end > now},
                session: until,
            }
        )

    def has_ended(self, session: str) -> bool:
        return session in self._ended.read()

    def add_code(self, hashed: str, code: SignInCode) -> None:
        self._codes[hashed] = code

    def take_code(self, hashed: str) -> SignInCode | None:
        return self._codes.pop(hashed, None)


def _create_secret(path: Path) -> None:
    """Create the file atomically; of two processes that do so at once, the first one's is kept."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
