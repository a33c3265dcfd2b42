"""Repositories, allowances and keys of requests in PostgreSQL."""

import socket
from hashlib import sha256

from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.ledger import decode, encode
from punchlist.ports.serving.records import KeyRecord, RepositoryEntry

_REGISTER = """
  INSERT INTO repositories (id, name, root, git_dir, identity) VALUES (%s, %s, %s, %s, %s)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, root = excluded.root,
    git_dir = excluded.git_dir, identity = excluded.identity, number = DEFAULT
"""
_CLAIM = """
  WITH old AS (DELETE FROM request_keys WHERE at < clock_timestamp() - interval '7 days')
  INSERT INTO request_keys (key, request, run) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING
"""


class PostgresRepositories:
    def __init__(self, database: Database) -> None:
        self._database = database

    def list_all(self) -> tuple[RepositoryEntry, ...]:
        sql = "SELECT id, name, root, git_dir, identity FROM repositories ORDER BY number"
        return tuple(
            RepositoryEntry(
                id=id_,
                name=decode(name),
                root=decode(root),
                git_dir=decode(git_dir),
                identity=None if identity is None else decode(identity),
            )
            for id_, name, root, git_dir, identity in self._database.fetch(sql)
        )

    def add(self, repository: RepositoryEntry) -> None:
        texts = (repository.name, repository.root, repository.git_dir)
        identity = None if repository.identity is None else encode(repository.identity)
        self._database.execute(_REGISTER, (repository.id, *map(encode, texts), identity))

    def remove(self, identifier: str) -> bool:
        """Unregister it; return whether it was registered."""
        return self._database.execute("DELETE FROM repositories WHERE id = %s", (identifier,)) > 0


class PostgresAllowances:
    """What a user of the database allowed holds for that user, and for one path of one machine:
    elsewhere the same path may be another repository. What was allowed before users were told
    apart holds for all of them, and only the owner of the tables takes it back.
    """

    def __init__(self, database: Database, machine: str = "") -> None:
        self._database = database
        self._machine = machine or socket.gethostname()

    def list_granted(self, repository: str) -> frozenset[str]:
        sql = """SELECT fingerprint FROM consents WHERE repository = %s AND owner = session_user
                 UNION SELECT fingerprint FROM allowances WHERE repository = %s"""
        name = self._name(repository)
        return frozenset(found for (found,) in self._database.fetch(sql, (name, name)))

    def grant(self, repository: str, *fingerprints: str) -> None:
        self._database.execute(
            "INSERT INTO consents (repository, fingerprint) SELECT %s, unnest(%s::text[])"
            " ON CONFLICT DO NOTHING",
            (self._name(repository), list(fingerprints)),
        )

    def revoke(self, repository: str) -> None:
        own = "DELETE FROM consents WHERE repository = %s AND owner = session_user"
        self._database.execute(own, (self._name(repository),))
        if self._database.fetch("SELECT punchlist_unbound()")[0][0]:
            earlier = "DELETE FROM allowances WHERE repository = %s"
            self._database.execute(earlier, (self._name(repository),))

    def _name(self, repository: str) -> str:
        return f"{self._machine}:{repository}"


class PostgresKeys:
    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, key: str) -> KeyRecord | None:
        sql = "SELECT request, run FROM request_keys WHERE key = %s"
        rows = self._database.fetch(sql, (hash_key(key),))
        return KeyRecord(*rows[0]) if rows else None

    def claim(self, key: str, record: KeyRecord) -> KeyRecord:
        """Keep the record if the key is new; return the one that is kept."""
        self._database.execute(_CLAIM, (hash_key(key), record.request, record.run))
        return self.read(key) or record

    def claim_run(self, run: str, own: str) -> bool:
        """Return whether the id of a run is new, or was claimed with the same text before."""
        sql = "SELECT punchlist_claim_run(%s, %s)"
        return bool(self._database.fetch(sql, (run, own))[0][0])


def hash_key(key: str) -> str:
    return sha256(encode(key)).hexdigest()
