"""Who may do what over HTTP: bearer tokens, of which only hashes are kept."""

import hmac
import secrets
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from punchlist.app.access import Role
from punchlist.app.state_folder import write_state
from punchlist.errors import StoreError

__all__ = ["Kept", "Role", "Tokens", "Visitor"]

FILE = "tokens.json"
_PREFIX = "pl_"


class Visitor(Struct, frozen=True):
    """Whoever a token stands for."""

    id: str
    role: Role
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or f"token {self.id}"


class Kept(Struct, frozen=True):
    visitor: Visitor
    hash: str


class Tokens:
    """Those of a file in the state folder, and perhaps one that is good for as long as this process
    lives.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE
        self._passing: tuple[Kept, ...] = ()

    def all(self) -> tuple[Visitor, ...]:
        return tuple(kept.visitor for kept in self._kept())

    def make(self, role: Role, name: str = "") -> str:
        """A new token; nobody can tell it again."""
        token, kept = _made(role, name)
        self._write((*self._kept(), kept))
        return token

    def make_passing(self, role: Role, name: str = "") -> str:
        """One that no file knows, and that ends with this process."""
        token, kept = _made(role, name)
        self._passing = (*self._passing, kept)
        return token

    def drop(self, identifier: str) -> bool:
        """Whether there was one of that id; it is refused from now on."""
        kept = tuple(each for each in self._kept() if each.visitor.id != identifier)
        there = len(kept) < len(self._kept())
        if there:
            self._write(kept)
        return there

    def visitor(self, token: str) -> Visitor | None:
        """Read anew each time, so that a token that was dropped is dropped."""
        found = _hashed(token)
        return next(
            (
                kept.visitor
                for kept in (*self._passing, *self._kept())
                if hmac.compare_digest(kept.hash, found)
            ),
            None,
        )

    def kept(self, identifier: str) -> Kept | None:
        """What is known of a token by its id, read anew, too."""
        return next(
            (kept for kept in (*self._passing, *self._kept()) if kept.visitor.id == identifier),
            None,
        )

    def _kept(self) -> tuple[Kept, ...]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=tuple[Kept, ...])
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.MsgspecError) as error:
            raise StoreError(
                f"{self._path}: cannot be read: {error}", hint="remove it, and make new tokens"
            ) from error

    def _write(self, kept: tuple[Kept, ...]) -> None:
        write_state(self._home, FILE, msgspec.json.encode(kept))


def _made(role: Role, name: str) -> tuple[str, Kept]:
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    return token, Kept(Visitor(secrets.token_hex(4), role, name), _hashed(token))


def _hashed(token: str) -> str:
    """A token has 256 random bits: there is nothing to guess, so a plain hash is enough."""
    return sha256(token.encode(errors="surrogatepass")).hexdigest()
