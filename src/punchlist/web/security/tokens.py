"""Bearer tokens and their roles; only hashes are stored."""

import hmac
import secrets
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.app.state_folder import write_state
from punchlist.errors import StoreError

__all__ = ["Role", "StoredToken", "Tokens", "Visitor"]

FILE = "tokens.json"
_PREFIX = "pl_"


class Visitor(Struct, frozen=True):
    """The owner of a token."""

    id: str
    role: Role
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or f"token {self.id}"


class StoredToken(Struct, frozen=True):
    visitor: Visitor
    hash: str


class Tokens:
    """Tokens in the state folder, and temporary ones of this process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE
        self._temporary: tuple[StoredToken, ...] = ()

    def list_all(self) -> tuple[Visitor, ...]:
        return tuple(kept.visitor for kept in self._load_tokens())

    def create_token(self, role: Role, name: str = "") -> str:
        """Return a new token; it cannot be shown again."""
        token, kept = _make_token(role, name)
        self._save_tokens((*self._load_tokens(), kept))
        return token

    def create_temporary(self, role: Role, name: str = "") -> str:
        """Return a token that is not stored, and ends with this process."""
        token, kept = _make_token(role, name)
        self._temporary = (*self._temporary, kept)
        return token

    def drop_token(self, identifier: str) -> bool:
        """Delete a token; return whether there was one."""
        kept = tuple(each for each in self._load_tokens() if each.visitor.id != identifier)
        there = len(kept) < len(self._load_tokens())
        if there:
            self._save_tokens(kept)
        return there

    def find_visitor(self, token: str) -> Visitor | None:
        """Return the owner of a token, or None. The file is read each time."""
        hashed = _hash_token(token)
        known = (each for each in self._list_known() if hmac.compare_digest(each.hash, hashed))
        return next((each.visitor for each in known), None)

    def find_token(self, identifier: str) -> StoredToken | None:
        """Return the token of this id, or None. The file is read each time."""
        return next((each for each in self._list_known() if each.visitor.id == identifier), None)

    def _list_known(self) -> tuple[StoredToken, ...]:
        return (*self._temporary, *self._load_tokens())

    def _load_tokens(self) -> tuple[StoredToken, ...]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[StoredToken, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"{self._path}: cannot be read: {error}", hint="remove it, and make new tokens"
            ) from error

    def _save_tokens(self, kept: tuple[StoredToken, ...]) -> None:
        write_state(self._home, FILE, msgspec.json.encode(kept))


def _make_token(role: Role, name: str) -> tuple[str, StoredToken]:
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    return token, StoredToken(Visitor(secrets.token_hex(4), role, name), _hash_token(token))


def _hash_token(token: str) -> str:
    """Return a plain hash: enough for 256 random bits."""
    return sha256(token.encode(errors="surrogatepass")).hexdigest()
