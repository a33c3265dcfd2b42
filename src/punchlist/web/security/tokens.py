"""Bearer tokens and their roles; only hashes are stored."""

import secrets
from hashlib import sha256

from punchlist.ports.serving.access import Access, Role, StoredToken, Visitor

__all__ = ["Role", "StoredToken", "Tokens", "Visitor", "hash_secret"]

_PREFIX = "pl_"


class Tokens:
    """The tokens of a state, which is asked each time: one may be dropped at any moment."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self.drop_token = access.drop_token
        self.find_token = access.find_by_id

    def list_all(self) -> tuple[Visitor, ...]:
        return tuple(kept.visitor for kept in self.access.list_tokens())

    def create_token(self, role: Role, name: str = "") -> str:
        """Return a new token; it cannot be shown again."""
        token, kept = _make_token(role, name)
        self.access.add_token(kept)
        return token

    def create_temporary(self, role: Role, name: str = "") -> tuple[str, Visitor]:
        """Return a token that ends with this process, and its owner."""
        token, kept = _make_token(role, name)
        self.access.add_token(kept, temporary=True)
        return token, kept.visitor

    def find_visitor(self, token: str) -> Visitor | None:
        """Return the owner of a token, or None."""
        kept = self.access.find_by_hash(hash_secret(token))
        return kept.visitor if kept else None


def _make_token(role: Role, name: str) -> tuple[str, StoredToken]:
    token = f"{_PREFIX}{secrets.token_urlsafe(32)}"
    return token, StoredToken(Visitor(secrets.token_hex(4), role, name), hash_secret(token))


def hash_secret(secret: str) -> str:
    """Return a plain hash: enough for 256 random bits."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()
