"""The ledger in one SQLite file: one writer at a time, durable writes, many readers."""

import json
import sqlite3
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Self

from msgspec.structs import replace

from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.store import migrations
from punchlist.adapters.store.columns import compare_columns, compare_run_row
from punchlist.adapters.store.errors import convert_errors
from punchlist.adapters.store.permissions import keep_file_private, keep_private
from punchlist.adapters.store.rows import choose_run, decode_line, fold_course
from punchlist.errors import StoreError
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent, Ended, Entry, Started
from punchlist.model.ledger.hash_chain import encode_line, link_entry
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import LedgerSnapshot

FILE = "ledger.sqlite3"
_PAGE = 32
_PAGE_BYTES = 1 << 20
"""At most so much is fetched at a time: an event may be megabytes, and readers may stop early."""
_BUSY_SECONDS = 30
_PAUSE = 0.02
_MINE = """
  (?1 = '' OR ({identity} <> '' AND {identity} = ?2)
   OR (repository = ?1 AND (?2 IS NULL OR {identity} = '')))
"""
"""Of a repository by path and identity, or of all. A ledger of old has no identities."""
_IDS = f"""
  SELECT id, repository = ?1 FROM runs WHERE {_MINE} ORDER BY started_at DESC, id DESC
"""
_RUNS = f"""
  WITH steps AS (
    SELECT run, seq, at, place, kind, at - lag(at) OVER (PARTITION BY run ORDER BY seq) AS took
    FROM entries
    WHERE run IN (SELECT id FROM runs WHERE {_MINE})
  ), sums AS (
    SELECT run, max(seq) AS entries, max(CASE WHEN place <> 'people' THEN seq END) AS last,
           sum(CASE WHEN place = 'people' OR kind IN ('resumed', 'answered') THEN 0 ELSE max(0,
           coalesce(took, 0)) END) AS active
    FROM steps GROUP BY run
  )
  SELECT runs.id, runs.repository, runs.started_at, last.at, last.kind, sums.entries, sums.active,
         ended.at, CAST(ended.line AS BLOB), ended.seq < sums.entries, {{identity}}
  FROM sums JOIN runs ON runs.id = sums.run
  JOIN entries AS last ON last.run = sums.run AND last.seq = coalesce(sums.last, sums.entries)
  LEFT JOIN entries AS ended ON ended.run = sums.run AND ended.kind = 'ended'
  ORDER BY runs.started_at DESC, runs.id DESC
"""
"""`active` leaves out what the fold does: the time until a user resumed, answered or commented."""

_COURSE = """
  SELECT CAST(line AS BLOB) FROM entries WHERE run = ?
  AND kind IN ('started', 'asked', 'clarified', 'answered', 'interrupted', 'resumed') ORDER BY seq
"""

_COLUMNS = ("run", "seq", "at", "place", "key", "kind", "hash")
_ROWS = f"""
  SELECT {", ".join(_COLUMNS)}, CAST(line AS BLOB) FROM entries WHERE run = ? ORDER BY seq
"""


class SqliteStore:
    """All runs of a home, safe for threads and processes; a (run, place, key) is written once."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database = database
        self._path = path
        self._identity = _identify_file(path)
        self._turn = RLock()
        has_identities = migrations.read_version(database) >= migrations.IDENTITIES
        self._identity_column = "identity" if has_identities else "''"

    @classmethod
    def open(cls, home: Path, *, readonly: bool = False) -> Self:
        """Open or create the ledger below `home`; `readonly` creates nothing."""
        path = home / FILE
        with convert_errors(path, "opened"):
            return cls(_open_reader(path) if readonly else _open_writer(path), path)

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Write the event durably, or return the entry already recorded for that action."""
        with self.transaction() as database:
            recorded = database.execute(
                "SELECT line FROM entries WHERE run = ? AND place = ? AND key = ?",
                _bind(run, place, key),
            ).fetchone()
            if recorded:
                return wire.decode(recorded[0], Entry)
            last = database.execute(
                "SELECT seq, hash FROM entries WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,)
            ).fetchone()
            seq, prev = last or (0, "")
            entry = Entry(run=run, seq=seq + 1, at=float(at), place=place, key=key, event=event)
            entry = link_entry(entry, prev)
            _insert_entry(database, entry, encode_line(entry))
            return entry

    def import_lines(self, run: str, lines: Sequence[bytes]) -> None:
        """Write lines of another store, all or none; they follow those that are here."""
        with self.transaction() as database:
            for line in lines:
                _insert_entry(database, decode_line(line, run), line)

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """Yield the entries of a run after `after`, in order, with those appended meanwhile."""
        for line in self._read_lines(run, after):
            yield decode_line(line, run)

    def read_kind(self, kind: str, repository: str, identity: str | None = None) -> Iterator[Entry]:
        """Yield the entries of one kind in all runs of a repository, oldest run first."""
        for (line,) in self.fetch_rows(
            f"""SELECT CAST(line AS BLOB) FROM entries JOIN runs ON runs.id = entries.run
                WHERE {_MINE} AND kind = ?3 ORDER BY runs.started_at, run, seq""",
            (repository, identity, kind),
        ):
            yield decode_line(line, repository)

    def export(self, run: str) -> Iterator[bytes]:
        """Yield entries as JSON lines, exactly as hashed and written."""
        for line in self._read_lines(run, 0):
            yield line + b"\n"

    def sum_usage(self, since: float, runs: Collection[str] | None = None) -> Usage:
        """Return the dollars, and the calls of unknown cost, of all entries since that time, or of
        those of some runs.
        """
        chosen = "" if runs is None else "run IN (SELECT value FROM json_each(?)) AND"
        rows = self.fetch_rows(
            f"""SELECT CAST(line AS BLOB) FROM entries WHERE {chosen} at >= ?
               AND (instr(line, '"dollars":') OR instr(line, '"unpriced":'))""",
            (*(() if runs is None else (json.dumps(sorted(runs)),)), since),
        )
        spent = [decode_line(line, FILE).event.usage for (line,) in rows]
        dollars, unpriced = (each.dollars for each in spent), (each.unpriced for each in spent)
        return Usage(dollars=sum(dollars), unpriced=sum(unpriced))

    def take_snapshot(self, run: str) -> LedgerSnapshot:
        """Return the run's lines with what the tables say beside them, all of one moment."""
        with self._turn, convert_errors(self._path, "read"), ExitStack() as end:
            self._database.execute("BEGIN")
            end.callback(self._roll_back)
            rows = self.fetch_rows(_ROWS, (run,))
            faults = tuple(self._find_faults(run, rows))
            return LedgerSnapshot(tuple(row[-1] for row in rows), self._read_head(run), faults)

    def _read_head(self, run: str) -> str | None:
        if migrations.read_version(self._database) < migrations.HEADS:
            return None
        rows = self.fetch_rows("SELECT head FROM runs WHERE id = ?", (run,))
        return str(rows[0][0]) if rows else ""

    def _find_faults(self, run: str, rows: list[Any]) -> Iterator[str]:
        """Yield which columns of the tables say something else than the lines."""
        known = self.fetch_rows(
            "SELECT id, repository, started_at, {identity} FROM runs WHERE id = ?", (run,)
        )
        if known and rows:
            yield from compare_run_row(_unbind(known[0]), rows[0][-1])
        for *columns, line in rows:
            yield from compare_columns(dict(zip(_COLUMNS, _unbind(columns), strict=True)), line)

    def runs(self, repository: str = "", identity: str | None = None) -> list[RunRow]:
        """Return the runs of one repository, or of all, newest first."""
        rows = [_parse_row(*row) for row in self.fetch_rows(_RUNS, (repository, identity))]
        return [row if row.outcome else self._unended(row) for row in rows]

    def _unended(self, row: RunRow) -> RunRow:
        lines = self.fetch_rows(_COURSE, (row.id,))
        return fold_course(row, (line for (line,) in lines))

    def find_run(self, part: str, repository: str = "", identity: str | None = None) -> str:
        """Return the run whose id has this part, or the newest for "last", of this very clone if it
        has one; raises UsageError.
        """
        return choose_run(self.fetch_rows(_IDS, (repository, identity)), part, repository)

    def get(self, key: str) -> bytes | None:
        rows = self.fetch_rows("SELECT value FROM cache WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def put(self, key: str, value: bytes) -> None:
        """Cache a measurement; the first value of a key stays."""
        with self.transaction() as database:
            database.execute("INSERT OR IGNORE INTO cache (key, value) VALUES (?, ?)", (key, value))

    def forget(self, prefix: str, text: str = "") -> int:
        """Delete the cached values whose keys begin with the prefix, and that have this text in
        them; return how many there were.
        """
        query = "DELETE FROM cache WHERE key LIKE ? AND instr(value, ?)"
        with self.transaction() as database:
            return database.execute(query, (f"{prefix}%", text.encode())).rowcount

    def close(self) -> None:
        with self._turn:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read_lines(self, run: str, after: int) -> Iterator[bytes]:
        # A line that was edited with other tools is text, not bytes; `audit` reports it.
        count = 1
        while page := self.fetch_rows(
            "SELECT seq, CAST(line AS BLOB) FROM entries WHERE run = ? AND seq > ? ORDER BY seq"
            " LIMIT ?",
            (run, after, count),
        ):
            for seq, line in page:
                yield line
                after = seq
            count = min(_PAGE, 2 * count) if sum(len(line) for _, line in page) < _PAGE_BYTES else 1

    def fetch_rows(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        named = sql.replace("{identity}", self._identity_column)
        with self._turn, convert_errors(self._path, "read"):
            return self._database.execute(named, _bind(*values)).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction: durable at the end, or rolled back."""
        with self._turn, convert_errors(self._path, "written"), ExitStack() as undo:
            self._require_file()
            undo.callback(self._roll_back)
            self._database.execute("BEGIN IMMEDIATE")
            yield self._database
            self._database.execute("COMMIT")
            undo.pop_all()

    def _require_file(self) -> None:
        """Raise StoreError if the file is not the one that was opened: SQLite would go on writing
        to one that no process can open any more.
        """
        if self._identity != _identify_file(self._path):
            raise StoreError(
                f"{self._path}: was deleted or replaced while it was in use",
                hint="what was recorded since is lost; start a new run: punchlist run",
            )

    def _roll_back(self) -> None:
        # SQLite may have rolled back by itself, as it does on a full disk.
        if self._database.in_transaction:
            with convert_errors(self._path, "rolled back"):
                self._database.execute("ROLLBACK")


def _identify_file(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from others with its name; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _insert_entry(database: sqlite3.Connection, entry: Entry, line: bytes) -> None:
    run, event = entry.run, entry.event
    if entry.seq == 1:
        key = (event.repository, event.identity) if isinstance(event, Started) else ("", "")
        database.execute(
            "INSERT INTO runs (id, started_at, repository, identity) VALUES (?, ?, ?, ?)",
            _bind(run, entry.at, *key),
        )
    kind = event.__struct_config__.tag
    database.execute(
        "INSERT INTO entries (run, seq, at, place, key, kind, hash, line)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        _bind(run, entry.seq, entry.at, entry.place, entry.key, kind, entry.hash, line),
    )
    database.execute("UPDATE runs SET head = ? WHERE id = ?", (entry.hash, run))


def _bind(*values: object) -> tuple[object, ...]:
    """Return values as SQLite takes them: paths may hold bytes that are no Unicode."""
    return tuple(wire.escape_text(each) if isinstance(each, str) else each for each in values)


def _unbind(values: Iterable[object]) -> tuple[object, ...]:
    return tuple(wire.unescape_text(each) if isinstance(each, str) else each for each in values)


def _parse_row(*row: Any) -> RunRow:
    run, repository, started_at, last_at, last_kind, entries, active, *rest = row
    ended_at, line, amended, identity = rest
    event = decode_line(line, run).event if line is not None else None
    outcome = event.outcome if isinstance(event, Ended) else ""
    path, identity = wire.unescape_text(repository), wire.unescape_text(identity)
    plain = RunRow(run, path, started_at, last_at, last_kind, entries, active, identity=identity)
    return replace(plain, ended_at=ended_at or 0, outcome=outcome, amended=bool(amended))


def _open_writer(path: Path) -> sqlite3.Connection:
    keep_private(path.parent)
    keep_file_private(path)
    database = _connect(str(path))
    with ExitStack() as undo:
        undo.callback(database.close)
        _check_version(database, path)
        _use_wal(database)
        database.execute("PRAGMA synchronous = FULL")
        database.execute("PRAGMA foreign_keys = ON")
        migrations.migrate(database)
        undo.pop_all()
    return database


def _use_wal(database: sqlite3.Connection) -> None:
    """Retry, because SQLite does not wait when several processes set a new file's mode."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _open_reader(path: Path) -> sqlite3.Connection:
    if not path_exists(path):
        return _open_empty()
    try:
        database = _connect_readonly(path, "mode=ro")
    except sqlite3.OperationalError:
        # In a read-only folder SQLite cannot make its shared-memory file; no process writes there.
        database = _connect_readonly(path, "mode=ro&immutable=1")
    if migrations.read_version(database):
        return database
    # Another process is creating it, or was killed meanwhile: nothing is recorded yet.
    database.close()
    return _open_empty()


def _open_empty() -> sqlite3.Connection:
    database = _connect(":memory:")
    migrations.migrate(database)
    return database


def _connect(name: str, *, uri: bool = False) -> sqlite3.Connection:
    return sqlite3.connect(
        name, uri=uri, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )


def _connect_readonly(path: Path, how: str) -> sqlite3.Connection:
    database = _connect(f"{path.absolute().as_uri()}?{how}", uri=True)
    with ExitStack() as undo:
        undo.callback(database.close)
        _check_version(database, path)
        undo.pop_all()
    return database


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    version = migrations.read_version(database)
    if version > migrations.VERSION:
        raise StoreError(
            f"{path} was written by a newer punchlist (schema {version}, this one knows"
            f" {migrations.VERSION})",
            hint="upgrade punchlist, or set PUNCHLIST_HOME to another folder",
        )
