"""The schema in PostgreSQL as numbered steps: step n migrates version n-1 to n.

Texts that may hold any character of a path are bytes (UTF-8 with surrogates): PostgreSQL's own text
takes neither a NUL nor a byte that is not UTF-8.
"""

from typing import Any, NamedTuple

import psycopg

from punchlist.adapters.postgres.guards import GUARDS
from punchlist.errors import StoreError

STEPS: tuple[str, ...] = (
    """
    CREATE TABLE runs (
      id text PRIMARY KEY,
      repository bytea NOT NULL,
      started_at double precision NOT NULL,
      head text NOT NULL,
      entries integer NOT NULL,
      last_at double precision NOT NULL,
      last_kind text NOT NULL,
      latest_at double precision NOT NULL,
      active double precision NOT NULL,
      ended_at double precision,
      outcome text NOT NULL DEFAULT '',
      ended_seq integer
    );
    CREATE INDEX runs_by_start ON runs (started_at DESC, id DESC);
    CREATE INDEX runs_by_repository ON runs (repository, started_at DESC);
    CREATE TABLE entries (
      run text NOT NULL REFERENCES runs (id),
      seq integer NOT NULL,
      at double precision NOT NULL,
      place bytea NOT NULL,
      key bytea NOT NULL,
      kind text NOT NULL,
      hash text NOT NULL,
      line bytea NOT NULL,
      epoch bigint,
      PRIMARY KEY (run, seq)
    );
    CREATE UNIQUE INDEX entries_once ON entries (run, sha256(place), sha256(key));
    CREATE INDEX entries_by_kind ON entries (kind, run)
      WHERE kind IN ('dismissed', 'published', 'filed');
    CREATE TABLE cache (key bytea PRIMARY KEY, value bytea NOT NULL);
    CREATE TABLE fences (
      name bytea PRIMARY KEY,
      epoch bigint NOT NULL DEFAULT 0,
      run text NOT NULL DEFAULT '',
      machine text NOT NULL DEFAULT '',
      pid integer NOT NULL DEFAULT 0,
      until timestamptz NOT NULL DEFAULT '-infinity'
    );
    CREATE TABLE stops (run text PRIMARY KEY, by bytea NOT NULL);
    """,
    """
    CREATE TABLE tokens (
      id text PRIMARY KEY,
      role text NOT NULL,
      name bytea NOT NULL,
      hash text NOT NULL UNIQUE,
      holder bytea,
      number bigint GENERATED ALWAYS AS IDENTITY
    );
    CREATE TABLE secrets (name text PRIMARY KEY, value bytea NOT NULL);
    CREATE TABLE ended_sessions (session text PRIMARY KEY, until double precision NOT NULL);
    CREATE TABLE sign_in_codes (
      hash text PRIMARY KEY,
      token text NOT NULL,
      until double precision NOT NULL,
      made timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE request_keys (
      key text PRIMARY KEY,
      request text NOT NULL,
      run text NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX request_keys_by_age ON request_keys (at);
    CREATE TABLE repositories (
      id text PRIMARY KEY,
      name bytea NOT NULL,
      root bytea NOT NULL,
      git_dir bytea NOT NULL,
      number bigint GENERATED ALWAYS AS IDENTITY
    );
    CREATE TABLE allowances (
      repository text NOT NULL,
      fingerprint text NOT NULL,
      PRIMARY KEY (repository, fingerprint)
    );
    """,
    """
    ALTER TABLE entries ADD COLUMN dollars double precision NOT NULL DEFAULT 0,
      ADD COLUMN unpriced integer NOT NULL DEFAULT 0;
    WITH told AS (
      SELECT run, seq,
        replace(convert_from(line, 'UTF8'), '\\u0000', '\\u0001')::json #> '{event,usage}' AS usage
      FROM entries
      WHERE position('"dollars":'::bytea IN line) > 0 OR position('"unpriced":'::bytea IN line) > 0
    )
    UPDATE entries SET dollars = coalesce((usage ->> 'dollars')::double precision, 0),
      unpriced = coalesce((usage ->> 'unpriced')::integer, 0)
      FROM told WHERE told.run = entries.run AND told.seq = entries.seq;
    CREATE INDEX entries_by_cost ON entries (at) WHERE dollars > 0 OR unpriced > 0;
    """,
    """
    ALTER TABLE runs ADD COLUMN identity bytea NOT NULL DEFAULT '';
    CREATE INDEX runs_by_identity ON runs (identity, started_at DESC);
    ALTER TABLE repositories ADD COLUMN identity bytea;
    """,
    """
    CREATE TABLE workers (
      id text PRIMARY KEY,
      machine text NOT NULL,
      pid integer NOT NULL,
      labels text[] NOT NULL,
      width integer NOT NULL,
      version text NOT NULL,
      draining boolean NOT NULL DEFAULT false,
      beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      until timestamptz NOT NULL
    );
    CREATE TABLE jobs (
      run text PRIMARY KEY REFERENCES runs (id),
      repository bytea NOT NULL,
      branch bytea NOT NULL,
      source bytea NOT NULL,
      label text NOT NULL,
      agents text[] NOT NULL,
      subject bytea NOT NULL,
      priority smallint NOT NULL,
      state text NOT NULL,
      worker text NOT NULL DEFAULT '',
      deaths integer NOT NULL DEFAULT 0,
      note bytea NOT NULL DEFAULT '',
      queued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      not_before timestamptz NOT NULL DEFAULT '-infinity',
      taken_at timestamptz
    );
    CREATE INDEX jobs_queued ON jobs (priority, queued_at, run) WHERE state = 'queued';
    CREATE INDEX jobs_running ON jobs (repository, branch) WHERE state = 'running';
    """,
    """
    CREATE TABLE units (
      id text PRIMARY KEY,
      run text NOT NULL REFERENCES jobs (run),
      epoch bigint NOT NULL,
      driver text NOT NULL,
      version text NOT NULL,
      agents text[] NOT NULL,
      task bytea NOT NULL,
      worker text NOT NULL DEFAULT '',
      withdrawn boolean NOT NULL DEFAULT false,
      over boolean NOT NULL DEFAULT false,
      report bytea NOT NULL DEFAULT '',
      elsewhere double precision NOT NULL DEFAULT 0,
      beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      offered_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE INDEX units_by_run ON units (run);
    """,
    "ALTER TABLE jobs ADD COLUMN done integer NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN protocol integer NOT NULL DEFAULT 1",
    """
    CREATE TABLE pull_notices (
      place text NOT NULL,
      number integer NOT NULL,
      forge text NOT NULL,
      repository text NOT NULL,
      head text NOT NULL,
      "group" text NOT NULL,
      asked timestamptz,
      stamp text NOT NULL,
      at timestamptz NOT NULL DEFAULT clock_timestamp(),
      due timestamptz NOT NULL DEFAULT clock_timestamp(),
      tries integer NOT NULL DEFAULT 0,
      why bytea NOT NULL DEFAULT '',
      over boolean NOT NULL DEFAULT false,
      PRIMARY KEY (place, number)
    )
    """,
    GUARDS,
)
VERSION = len(STEPS)
OLDEST = 5
"""Processes that know this version of the schema, or a later one, still work with VERSION: all
steps after it only add what they do not miss. A step that does more raises it to its own number.
"""
_LOCK = 0x70756E6368
"""The advisory lock of the process that migrates."""
_PATH = "SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true)"
"""Functions keep this path: objects that others make in other schemas are not found."""


class Schema(NamedTuple):
    """`oldest`: what a process must at least know to work with it."""

    version: int = 0
    oldest: int = 0


def read_schema(database: psycopg.Connection[Any]) -> Schema:
    """Return the version of the schema; 0 if there is none."""
    row = database.execute("SELECT to_regclass('punchlist_schema') IS NOT NULL").fetchone()
    if not row or not row[0]:
        return Schema()
    found = database.execute(
        "SELECT version, (to_jsonb(known) ->> 'oldest')::integer FROM punchlist_schema AS known"
    ).fetchone()
    if not found:
        return Schema()
    return Schema(found[0], found[0] if found[1] is None else found[1])


def migrate(database: psycopg.Connection[Any]) -> int:
    """Migrate to VERSION, all steps or none; return the version before."""
    with database.transaction():
        database.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        before = read_schema(database).version
        if before < VERSION:
            database.execute(_PATH)
            for statements in STEPS[before:]:
                database.execute(statements)
            database.execute("CREATE TABLE IF NOT EXISTS punchlist_schema (version integer)")
            database.execute("ALTER TABLE punchlist_schema ADD COLUMN IF NOT EXISTS oldest integer")
            database.execute("DELETE FROM punchlist_schema")
            row = (VERSION, OLDEST)
            database.execute("INSERT INTO punchlist_schema (version, oldest) VALUES (%s, %s)", row)
        return before


def check_version(database: psycopg.Connection[Any]) -> None:
    """Raise StoreError if this version cannot work with the schema."""
    version, oldest = read_schema(database)
    if version > VERSION and oldest > VERSION:
        raise StoreError(
            f"the database was made by a newer punchlist (schema {version}, this one knows"
            f" {VERSION})",
            hint="upgrade punchlist",
        )
    if version < VERSION:
        what = "has no ledger yet" if not version else f"has an older schema ({version})"
        raise StoreError(f"the database {what}", hint="punchlist store upgrade")
