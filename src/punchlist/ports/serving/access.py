"""The port to tokens, browser sessions and sign-in codes; of secrets only hashes are kept."""

from enum import StrEnum
from typing import Protocol

from msgspec import Struct


class Role(StrEnum):
    """Each role includes those before it. READ: look; RUN: start, answer, stop; ADMIN: register,
    apply, allow checks.
    """

    READ = "read"
    RUN = "run"
    ADMIN = "admin"

    def includes(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)


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


class SignInCode(Struct, frozen=True):
    """`token` is the id of the token that the code signs in with, until that time."""

    token: str
    until: float


class Access(Protocol):
    """Who may call the servers of one state; a change counts at once for all of them."""

    def list_tokens(self) -> tuple[StoredToken, ...]:
        """Return the tokens that outlive their server, oldest first."""
        ...

    def add_token(self, token: StoredToken, *, temporary: bool = False) -> None:
        """Keep a token; a temporary one ends when this process does."""
        ...

    def drop_token(self, identifier: str) -> bool:
        """Delete a token; return whether there was one."""
        ...

    def find_by_hash(self, hashed: str) -> StoredToken | None: ...

    def find_by_id(self, identifier: str) -> StoredToken | None: ...

    def load_key(self) -> bytes:
        """Return the 32 random bytes that cookies are signed with, the same in all servers."""
        ...

    def end_session(self, session: str, now: float, until: float) -> None:
        """Note that a session was signed out, until it would have ended by itself."""
        ...

    def has_ended(self, session: str) -> bool:
        """Return whether a session was signed out."""
        ...

    def add_code(self, hashed: str, code: SignInCode) -> None: ...

    def take_code(self, hashed: str) -> SignInCode | None:
        """Return a code and delete it: of two calls at once, one gets it."""
        ...
