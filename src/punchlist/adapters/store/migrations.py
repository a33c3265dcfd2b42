"""The ledger's schema as numbered steps: step n migrates version n-1 to n."""

import sqlite3
from contextlib import ExitStack

STEPS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
             id TEXT PRIMARY KEY,
             repository TEXT NOT NULL,
             started_at REAL NOT NULL
           )""",
        """CREATE TABLE entries (
             run TEXT NOT NULL REFERENCES runs (id),
             seq INTEGER NOT NULL,
             at REAL NOT NULL,
             place TEXT NOT NULL,
             key TEXT NOT NULL,
             kind TEXT NOT NULL,
             hash TEXT NOT NULL,
             line BLOB NOT NULL,
             PRIMARY KEY (run, seq),
             UNIQUE (run, place, key)
           )""",
        "CREATE INDEX runs_by_repository ON runs (repository, started_at)",
        "CREATE TABLE cache (key TEXT PRIMARY KEY, value BLOB NOT NULL)",
    ),
    (  # the hash of a run's last entry: without it, entries cut off at the end are not missed
        "ALTER TABLE runs ADD COLUMN head TEXT NOT NULL DEFAULT ''",
        """UPDATE runs SET head = coalesce(
             (SELECT hash FROM entries WHERE run = runs.id ORDER BY seq DESC LIMIT 1), '')""",
    ),
    (  # what a repository is called on every machine; earlier runs recorded only its path
        "ALTER TABLE runs ADD COLUMN identity TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX runs_by_identity ON runs (identity, started_at)",
    ),
    (  # pull requests that forges gave notice of, until each is answered
        """CREATE TABLE pull_notices (
             place TEXT NOT NULL,
             number INTEGER NOT NULL,
             forge TEXT NOT NULL,
             repository TEXT NOT NULL,
             head TEXT NOT NULL,
             "group" TEXT NOT NULL,
             asked REAL,
             stamp TEXT NOT NULL,
             at REAL NOT NULL,
             due REAL NOT NULL,
             tries INTEGER NOT NULL DEFAULT 0,
             why TEXT NOT NULL DEFAULT '',
             over INTEGER NOT NULL DEFAULT 0,
             PRIMARY KEY (place, number)
           )""",
        "CREATE TABLE notice_keys (key TEXT PRIMARY KEY, at REAL NOT NULL)",
        "CREATE INDEX notice_keys_by_age ON notice_keys (at)",
    ),
)

VERSION = len(STEPS)
HEADS = 2
"""From this version on, the runs have heads."""
IDENTITIES = 3
"""From this version on, they have identities."""


def read_version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def migrate(database: sqlite3.Connection) -> None:
    """Migrate to VERSION, all steps or none; concurrent processes wait for each other."""
    if read_version(database) == VERSION:
        return
    database.execute("BEGIN IMMEDIATE")
    with ExitStack() as undo:
        undo.callback(database.execute, "ROLLBACK")
        for statements in STEPS[read_version(database) :]:
            for statement in statements:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
        undo.pop_all()
    database.execute("COMMIT")
