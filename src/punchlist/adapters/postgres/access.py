"""Tokens, signed-out sessions and sign-in codes in PostgreSQL.

A temporary token ends with the process that made it: its row names a lease of that process.
"""

import secrets
from contextlib import suppress
from typing import Any

from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.leases import PostgresLease, PostgresLeases
from punchlist.adapters.postgres.ledger import decode, encode
from punchlist.errors import StoreError
from punchlist.ports.serving.access import Role, SignInCode, StoredToken, Visitor

_TOKENS = """
  SELECT tokens.id, tokens.role, tokens.name, tokens.hash
  FROM tokens LEFT JOIN fences ON fences.name = tokens.holder
  WHERE (tokens.holder IS NULL OR fences.until >= clock_timestamp())
"""
_FORGET = """
  WITH dead AS (
    DELETE FROM fences WHERE substring(name FROM 1 FOR 7) = 'server '::bytea
    AND until < clock_timestamp() - interval '1 day' RETURNING name
  )
  DELETE FROM tokens WHERE holder IN (SELECT name FROM dead)
"""
"""A server may be without the database for a while: only what is long over is deleted."""
_END = """
  WITH old AS (DELETE FROM ended_sessions WHERE until < %(now)s)
  INSERT INTO ended_sessions (session, until) VALUES (%(session)s, %(until)s)
  ON CONFLICT (session) DO UPDATE SET until = excluded.until
"""
_CODE = """
  WITH old AS (DELETE FROM sign_in_codes WHERE made < clock_timestamp() - interval '1 day')
  INSERT INTO sign_in_codes (hash, token, until) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""


class PostgresAccess:
    def __init__(self, database: Database, leases: PostgresLeases) -> None:
        self._database = database
        self._leases = leases
        self._lease: PostgresLease | None = None
        self._name = f"server {secrets.token_hex(8)}"
        self._key = b""

    def list_tokens(self) -> tuple[StoredToken, ...]:
        return self._find("AND tokens.holder IS NULL ORDER BY tokens.number")

    def add_token(self, token: StoredToken, *, temporary: bool = False) -> None:
        """Keep a token; a temporary one as long as this process renews its lease."""
        if temporary and self._lease is None:
            self._database.execute(_FORGET)
            self._lease = self._leases.acquire(self._name)
        visitor = token.visitor
        holder = encode(self._name) if temporary else None
        self._database.execute(
            "INSERT INTO tokens (id, role, name, hash, holder) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            (visitor.id, visitor.role.value, encode(visitor.name), token.hash, holder),
        )

    def drop_token(self, identifier: str) -> bool:
        """Delete a token; return whether there was one."""
        sql = "DELETE FROM tokens WHERE id = %s AND holder IS NULL"
        return self._database.execute(sql, (identifier,)) > 0

    def find_by_hash(self, hashed: str) -> StoredToken | None:
        return next(iter(self._find("AND tokens.hash = %s", hashed)), None)

    def find_by_id(self, identifier: str) -> StoredToken | None:
        return next(iter(self._find("AND tokens.id = %s", identifier)), None)

    def _find(self, which: str, *values: object) -> tuple[StoredToken, ...]:
        return tuple(map(_make_token, self._database.fetch(_TOKENS + which, values)))

    def load_key(self) -> bytes:
        """Return the key of the cookies, made by the first server."""
        if not self._key:
            self._database.execute(
                "INSERT INTO secrets (name, value) VALUES ('cookie', %s) ON CONFLICT DO NOTHING",
                (secrets.token_bytes(32),),
            )
            ((self._key,),) = self._database.fetch(
                "SELECT value FROM secrets WHERE name = 'cookie'"
            )
        return self._key

    def end_session(self, session: str, now: float, until: float) -> None:
        self._database.execute(_END, {"session": session, "now": now, "until": until})

    def has_ended(self, session: str) -> bool:
        sql = "SELECT 1 FROM ended_sessions WHERE session = %s"
        return bool(self._database.fetch(sql, (session,)))

    def add_code(self, hashed: str, code: SignInCode) -> None:
        self._database.execute(_CODE, (hashed, code.token, code.until))

    def take_code(self, hashed: str) -> SignInCode | None:
        """Return a code and delete it. It is not tried again while the database is away: the answer
        of the first try may be lost, and a code works once.
        """
        with self._database.connect() as base:
            sql = "DELETE FROM sign_in_codes WHERE hash = %s RETURNING token, until"
            row = base.execute(sql, (hashed,)).fetchone()
        return SignInCode(*row) if row else None

    def close(self) -> None:
        """End the temporary tokens of this process."""
        if self._lease is not None:
            with suppress(StoreError):  # the lease runs out by itself
                self._lease.release()
            self._lease = None


def _make_token(row: Any) -> StoredToken:
    identifier, role, name, hashed = row
    return StoredToken(Visitor(identifier, Role(role), decode(name)), hashed)
