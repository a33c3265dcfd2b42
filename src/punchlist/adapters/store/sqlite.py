"""The ledger in one SQLite file: appended to by one writer at a time, durable before anyone is
told, read by everybody.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from punchlist.adapters.store import migrations
from punchlist.adapters.store.errors import told
from punchlist.adapters.store.permissions import keep_file_private, keep_private
from punchlist.errors import LedgerBroken, StoreError, UsageError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent, Ended, Entry, Started
from punchlist.model.ledger.fold import folded
from punchlist.model.ledger.hash_chain import chained, line_of
from punchlist.model.ledger.run_row import RunRow

FILE = "ledger.sqlite3"
_PAGE = 32
_PAGE_BYTES = 1 << 20
"""Entries fetched at a time, at most: an event may be several megabytes, and readers may stop
early.
"""
_BUSY_SECONDS = 30
_PAUSE = 0.02
_CANDIDATES = 10
_IDS = "SELECT id FROM runs WHERE ? IN ('', repository) ORDER BY started_at DESC, id DESC"
_RUNS = """
  WITH steps AS (
    SELECT run, seq, at, place, kind, at - lag(at) OVER (PARTITION BY run ORDER BY seq) AS took
    FROM entries
    WHERE run IN (SELECT id FROM runs WHERE ? IN ('', repository))
  ), sums AS (
    SELECT run, max(seq) AS entries, max(CASE WHEN place <> 'people' THEN seq END) AS last,
           sum(CASE WHEN place = 'people' OR kind IN ('resumed', 'answered') THEN 0 ELSE max(0,
           coalesce(took, 0)) END) AS active
    FROM steps GROUP BY run
  )
  SELECT runs.id, runs.repository, runs.started_at, last.at, last.kind, sums.entries, sums.active,
         ended.at, CAST(ended.line AS BLOB), ended.seq < sums.entries
  FROM sums JOIN runs ON runs.id = sums.run
  JOIN entries AS last ON last.run = sums.run AND last.seq = coalesce(sums.last, sums.entries)
  LEFT JOIN entries AS ended ON ended.run = sums.run AND ended.kind = 'ended'
  ORDER BY runs.started_at DESC, runs.id DESC
"""
"""`active` leaves out what the fold leaves out: the time until somebody resumed it, answered, or
said something beside it.
"""

_COURSE = """
  SELECT CAST(line AS BLOB) FROM entries WHERE run = ?
  AND kind IN ('started', 'asked', 'clarified', 'answered', 'interrupted', 'resumed') ORDER BY seq
"""


class SqliteStore:
    """All runs of a home. Safe to use from several threads and processes; each (run, place, key) is
    written once.
    """

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database = database
        self._path = path
        self._turn = RLock()

    @classmethod
    def open(cls, home: Path, *, readonly: bool = False) -> Self:
        """The ledger below `home`, made if it is not there. A reader makes nothing, and may read
        while a run writes.
        """
        path = home / FILE
        try:
            database = _reader(path) if readonly else _writer(path)
        except (sqlite3.Error, OSError) as error:
            raise told(error, path, "opened") from error
        return cls(database, path)

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Writes the event of one action, or returns what is recorded for that action already.
        Durable when it returns.
        """
        with self._writing("written") as database:
            recorded = database.execute(
                "SELECT line FROM entries WHERE run = ? AND place = ? AND key = ?",
                (run, place, key),
            ).fetchone()
            if recorded:
                return wire.decode(recorded[0], Entry)
            last = database.execute(
                "SELECT seq, hash FROM entries WHERE run = ? ORDER BY seq DESC LIMIT 1", (run,)
            ).fetchone()
            seq, prev = last or (0, "")
            entry = chained(
                Entry(run=run, seq=seq + 1, at=float(at), place=place, key=key, event=event), prev
            )
            if not last:
                repository = event.repository if isinstance(event, Started) else ""
                database.execute(
                    "INSERT INTO runs (id, repository, started_at) VALUES (?, ?, ?)",
                    (run, repository, at),
                )
            row = (
                run,
                entry.seq,
                at,
                place,
                key,
                event.__struct_config__.tag,
                entry.hash,
                line_of(entry),
            )
            database.execute(
                "INSERT INTO entries (run, seq, at, place, key, kind, hash, line) VALUES (?, ?, ?,"
                " ?, ?, ?, ?, ?)",
                row,
            )
            return entry

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a run in order, those after `after` only; what is appended meanwhile comes
        too.
        """
        for line in self._lines(run, after):
            yield _decoded(line, run)

    def of_kind(self, kind: str, repository: str) -> Iterator[Entry]:
        """The entries of one kind in all runs of a repository, oldest run first."""
        for (line,) in self._rows(
            """SELECT CAST(line AS BLOB) FROM entries JOIN runs ON runs.id = entries.run
               WHERE runs.repository = ? AND kind = ? ORDER BY runs.started_at, run, seq""",
            (repository, kind),
        ):
            yield _decoded(line, repository)

    def export(self, run: str) -> Iterator[bytes]:
        """JSON lines, one entry each, exactly as hashed and written."""
        for line in self._lines(run, 0):
            yield line + b"\n"

    def runs(self, repository: str = "") -> list[RunRow]:
        """Newest first; of one repository, or of all."""
        rows = [_row(*row) for row in self._rows(_RUNS, (repository,))]
        return [row if row.outcome else self._unended(row) for row in rows]

    def _unended(self, row: RunRow) -> RunRow:
        """Return the row with what the fold of its questions, answers and stops says."""
        lines = self._rows(_COURSE, (row.id,))
        run = folded(row.id, (_decoded(line, row.id) for (line,) in lines))
        return replace(row, waits=run.waits, paused=run.paused)

    def find(self, prefix: str, repository: str = "") -> str:
        """The run whose id begins so, or the newest for "last"."""
        ids: list[str] = [run for (run,) in self._rows(_IDS, (repository,))]
        if not ids:
            raise UsageError(_nothing_recorded(repository), hint="punchlist run")
        if prefix == "last":
            return ids[0]
        found = (
            [prefix]
            if prefix in ids
            else [each for each in ids if prefix and each.startswith(prefix)]
        )
        if len(found) == 1:
            return found[0]
        listed = ", ".join((found or ids)[:_CANDIDATES])
        if found:
            raise UsageError(
                f'{len(found)} runs begin with "{prefix}": {listed}', hint="give more of the id"
            )
        raise UsageError(
            f'no run begins with "{prefix}"; there are: {listed}',
            hint='punchlist list, or "last" for the newest',
        )

    def get(self, key: str) -> bytes | None:
        rows = self._rows("SELECT value FROM cache WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def put(self, key: str, value: bytes) -> None:
        """Keeps what was measured; the first value of a key holds."""
        with self._writing("written") as database:
            database.execute("INSERT OR IGNORE INTO cache (key, value) VALUES (?, ?)", (key, value))

    def close(self) -> None:
        with self._turn:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _lines(self, run: str, after: int) -> Iterator[bytes]:
        # Whoever edits a line with other tools leaves text where bytes were; the chain is to say
        # so, not the type.
        count = 1
        while page := self._rows(
            "SELECT seq, CAST(line AS BLOB) FROM entries WHERE run = ? AND seq > ? ORDER BY seq"
            " LIMIT ?",
            (run, after, count),
        ):
            for seq, line in page:
                yield line
                after = seq
            count = min(_PAGE, 2 * count) if sum(len(line) for _, line in page) < _PAGE_BYTES else 1

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        try:
            with self._turn:
                return self._database.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise told(error, self._path, "read") from error

    @contextmanager
    def _writing(self, done: str) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is on the disk when this ends, or none of it is anywhere."""
        with self._turn:
            try:
                with ExitStack() as undo:
                    undo.callback(self._undo)
                    self._database.execute("BEGIN IMMEDIATE")
                    yield self._database
                    self._database.execute("COMMIT")
                    undo.pop_all()
            except sqlite3.Error as error:
                raise told(error, self._path, done) from error

    def _undo(self) -> None:
        # SQLite may have rolled back by itself, as it does on a full disk.
        if self._database.in_transaction:
            try:
                self._database.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise told(error, self._path, "rolled back") from error


def _row(*row: Any) -> RunRow:
    run, repository, started_at, last_at, last_kind, entries, active, ended_at, line, amended = row
    event = _decoded(line, run).event if line is not None else None
    outcome = event.outcome if isinstance(event, Ended) else ""
    plain = RunRow(run, repository, started_at, last_at, last_kind, entries, active)
    return replace(plain, ended_at=ended_at or 0, outcome=outcome, amended=bool(amended))


def _decoded(line: bytes, where: str) -> Entry:
    try:
        return wire.decode(line, Entry)
    except msgspec.MsgspecError as error:
        raise LedgerBroken(
            f"{where}: a line of the ledger is damaged: {error}",
            hint="`punchlist audit` says which",
        ) from error


def _writer(path: Path) -> sqlite3.Connection:
    keep_private(path.parent)
    keep_file_private(path)
    database = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
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
    """SQLite does not wait by itself where several want to change a new file's mode at once: it
    refuses all but one.
    """
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


def _reader(path: Path) -> sqlite3.Connection:
    if not path.exists():
        return _empty()
    try:
        database = _opened_for_reading(path, "mode=ro")
    except sqlite3.OperationalError:
        # In a folder where nothing may be made, SQLite cannot make its shared-memory file; then
        # nobody writes there either.
        database = _opened_for_reading(path, "mode=ro&immutable=1")
    if migrations.version_of(database):
        return database
    # a process is just making it, or was killed while it did: nothing is recorded yet
    database.close()
    return _empty()


def _empty() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    migrations.migrate(database)
    return database


def _opened_for_reading(path: Path, how: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{how}"
    database = sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    with ExitStack() as undo:
        undo.callback(database.close)
        _check_version(database, path)
        undo.pop_all()
    return database


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    version = migrations.version_of(database)
    if version > migrations.VERSION:
        raise StoreError(
            f"{path} was written by a newer punchlist (schema {version}, this one knows"
            f" {migrations.VERSION})",
            hint="upgrade punchlist, or set PUNCHLIST_HOME to another folder",
        )


def _nothing_recorded(repository: str) -> str:
    return f"no run is recorded for {repository}" if repository else "no run is recorded yet"
