"""The ledger in PostgreSQL: an append is one round trip, refused if the run has a new driver."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from threading import RLock
from typing import Any, Self

from msgspec.structs import replace

from punchlist.adapters.postgres.connection import Connection, Database
from punchlist.adapters.store.columns import compare_columns, compare_run_row
from punchlist.adapters.store.rows import choose_run, decode_line, fold_course
from punchlist.errors import RunTaken, StoreError
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Answered, AnyEvent, Ended, Entry, Resumed, Started
from punchlist.model.ledger.hash_chain import encode_line, link_entry
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.store import LedgerSnapshot

_PAGE = 64
_COLUMNS = ("run", "seq", "at", "place", "key", "kind", "hash")
_ROWS = "SELECT run, seq, at, place, key, kind, hash, line FROM entries WHERE run = %s ORDER BY seq"
_COURSE = """
  SELECT run, line FROM entries WHERE run = ANY(%s)
  AND kind IN ('started', 'asked', 'clarified', 'answered', 'interrupted', 'resumed') ORDER BY seq
"""
_MINE = """
  (%(repository)s = '' OR (identity <> '' AND identity = %(identity)s)
   OR (repository = %(repository)s AND (%(identity)s::bytea IS NULL OR identity = '')))
"""
_RUNS = f"""
  SELECT id, repository, started_at, last_at, last_kind, entries, active, coalesce(ended_at, 0),
         outcome, coalesce(ended_seq < entries, false), identity
  FROM runs WHERE {_MINE} ORDER BY started_at DESC, id DESC
"""
_APPEND = """
  SELECT held, written FROM punchlist_append(%(run)s, %(name)s, %(seq)s, %(at)s, %(place)s, %(key)s,
    %(kind)s, %(hash)s, %(line)s, %(epoch)s, %(dollars)s, %(unpriced)s, %(repository)s,
    %(identity)s, %(people)s, %(idle)s, %(ended)s, %(outcome)s, %(ended_seq)s)
"""


class PostgresStore:
    """All runs of a fleet. `epochs`: the epoch in which this process drives a run; an append of a
    run that is in it is refused once another process has taken the run.
    """

    def __init__(self, database: Database, epochs: Mapping[str, int] | None = None) -> None:
        self._database = database
        self._epochs = epochs if epochs is not None else {}
        self._tails: dict[str, tuple[int, str]] = {}
        self._turn = RLock()

    def append(self, run: str, place: str, key: str, event: AnyEvent, at: float) -> Entry:
        """Write the event durably, or return the entry already recorded for that action."""
        with self._turn:
            while True:
                seq, prev = self._tails.get(run) or self._read_tail(run)
                entry = Entry(run=run, seq=seq + 1, at=float(at), place=place, key=key, event=event)
                entry = link_entry(entry, prev)
                epoch = self._epochs.get(run)
                values = _make_values(entry, epoch)
                held, put = self._database.run(partial(_try_append, values))
                if put:
                    self._tails[run] = (entry.seq, entry.hash)
                    return entry
                self._tails.pop(run, None)
                recorded = self._find(run, place, key)
                if recorded is not None:
                    return recorded
                if not held:
                    raise RunTaken(
                        f"run {run} was taken over by another process",
                        hint=f"`punchlist status {run}` tells how far it is",
                    )

    def _find(self, run: str, place: str, key: str) -> Entry | None:
        rows = self._database.fetch(
            "SELECT line FROM entries WHERE run = %s AND sha256(place) = sha256(%s)"
            " AND sha256(key) = sha256(%s)",
            (run, encode(place), encode(key)),
        )
        return decode_line(rows[0][0], run) if rows else None

    def _read_tail(self, run: str) -> tuple[int, str]:
        rows = self._database.fetch(
            "SELECT seq, hash FROM entries WHERE run = %s ORDER BY seq DESC LIMIT 1", (run,)
        )
        return (rows[0][0], rows[0][1]) if rows else (0, "")

    def read(self, run: str, after: int = 0) -> Iterator[Entry]:
        """Yield the entries of a run after `after`, in order, with those appended meanwhile."""
        for line in self._read_lines(run, after):
            yield decode_line(line, run)

    def read_kind(self, kind: str, repository: str, identity: str | None = None) -> Iterator[Entry]:
        """Yield the entries of one kind in all runs of a repository, oldest run first."""
        for (line,) in self._database.fetch(
            f"""SELECT line FROM entries JOIN runs ON runs.id = entries.run
                WHERE {_MINE} AND kind = %(kind)s ORDER BY runs.started_at, run, seq""",
            {**_name(repository, identity), "kind": kind},
        ):
            yield decode_line(line, repository)

    def export(self, run: str) -> Iterator[bytes]:
        """Yield entries as JSON lines, exactly as hashed and written."""
        for line in self._read_lines(run, 0):
            yield line + b"\n"

    def import_lines(self, run: str, lines: Sequence[bytes]) -> None:
        """Write lines of another store, all or none; they follow those that are here."""

        def write(base: Connection) -> None:
            with base.transaction():
                for line in lines:
                    values = {**_make_values(decode_line(line, run), None), "line": line}
                    if not _try_append(values, base)[1]:
                        raise StoreError(f"run {run} was written to meanwhile", hint="copy again")

        self._database.run(write)
        self._tails.pop(run, None)

    def take_snapshot(self, run: str) -> LedgerSnapshot:
        """Return the run's lines with what the tables say beside them, all of one moment."""

        def look(base: Connection) -> tuple[list[Any], list[Any]]:
            with base.transaction():
                base.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                rows = base.execute(_ROWS, (run,)).fetchall()
                return rows, base.execute(
                    "SELECT id, repository, started_at, identity, head FROM runs WHERE id = %s",
                    (run,),
                ).fetchall()

        rows, known = self._database.run(look)
        faults: list[str] = []
        if known and rows:
            name, path, start, identity, _ = known[0]
            told = (name, decode(path), start, decode(identity))
            faults += compare_run_row(told, rows[0][-1])
        for *columns, line in rows:
            plain = [decode(each) if isinstance(each, bytes) else each for each in columns]
            faults += compare_columns(dict(zip(_COLUMNS, plain, strict=True)), line)
        head = known[0][-1] if known else ""
        return LedgerSnapshot(tuple(row[-1] for row in rows), head, tuple(faults))

    def runs(self, repository: str = "", identity: str | None = None) -> list[RunRow]:
        """Return the runs of one repository, or of all, newest first."""
        rows = self._database.fetch(_RUNS, _name(repository, identity))
        known = [
            replace(RunRow(run, decode(path), *rest), identity=decode(name))
            for run, path, *rest, name in rows
        ]
        courses: dict[str, list[bytes]] = {row.id: [] for row in known if not row.outcome}
        for run, line in self._database.fetch(_COURSE, (list(courses),)) if courses else ():
            courses[run].append(line)
        return [fold_course(row, courses[row.id]) if row.id in courses else row for row in known]

    def find_run(self, part: str, repository: str = "", identity: str | None = None) -> str:
        """Return the run whose id has this part, or the newest for "last", of this very clone if it
        has one; raises UsageError.
        """
        rows = self._database.fetch(
            f"SELECT id, repository = %(repository)s FROM runs WHERE {_MINE}"
            " ORDER BY started_at DESC, id DESC",
            _name(repository, identity),
        )
        return choose_run(rows, part, repository)

    def sum_usage(self, since: float, runs: Collection[str] | None = None) -> Usage:
        """Return the dollars, and the calls of unknown cost, of all entries since that time, or of
        those of some runs.
        """
        ((dollars, unpriced),) = self._database.fetch(
            "SELECT coalesce(sum(dollars), 0), coalesce(sum(unpriced), 0) FROM entries"
            " WHERE at >= %s AND (dollars > 0 OR unpriced > 0) AND (%s OR run = ANY(%s))",
            (since, runs is None, sorted(runs or ())),
        )
        return Usage(dollars=dollars, unpriced=unpriced)

    def get(self, key: str) -> bytes | None:
        rows = self._database.fetch("SELECT value FROM cache WHERE key = %s", (encode(key),))
        return rows[0][0] if rows else None

    def put(self, key: str, value: bytes) -> None:
        """Cache a measurement; the first value of a key stays."""
        self._database.run(
            lambda base: base.execute(
                "INSERT INTO cache (key, value) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                (encode(key), value),
            )
        )

    def forget(self, prefix: str, text: str = "") -> int:
        """Delete the cached values whose keys begin with the prefix, and that have this text in
        them; return how many there were.
        """
        start = encode(prefix)
        query = (
            "DELETE FROM cache WHERE substring(key FROM 1 FOR %s) = %s"
            " AND position(%s::bytea IN value) > 0"
        )
        values = (len(start), start, encode(text))
        return self._database.run(lambda base: base.execute(query, values).rowcount)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _read_lines(self, run: str, after: int) -> Iterator[bytes]:
        size = 2  # many readers want the first entry alone
        while page := self._database.fetch(
            "SELECT seq, line FROM entries WHERE run = %s AND seq > %s ORDER BY seq LIMIT %s",
            (run, after, size),
        ):
            for seq, line in page:
                yield line
                after = seq
            size = _PAGE


def encode(text: str) -> bytes:
    """Return any text as bytes that sort and compare as it does."""
    return text.encode(errors="surrogatepass")


def decode(content: bytes) -> str:
    return content.decode(errors="surrogatepass")


def append_within(base: Connection, draft: Entry) -> Entry:
    """Append the draft in the caller's transaction, whichever process drives the run; its number is
    the next, and its key that number if it has none. Raise StoreError if another process appended
    meanwhile.
    """
    row = base.execute(
        "SELECT seq, hash FROM entries WHERE run = %s ORDER BY seq DESC LIMIT 1", (draft.run,)
    ).fetchone()
    seq, prev = row or (0, "")
    numbered = replace(draft, seq=seq + 1, key=draft.key or str(seq + 1))
    entry = link_entry(numbered, prev)
    if not _try_append(_make_values(entry, None), base)[1]:
        raise StoreError(f"run {draft.run} was written to meanwhile", hint="try again")
    return entry


def _name(repository: str, identity: str | None) -> dict[str, object]:
    known = None if identity is None else encode(identity)
    return {"repository": encode(repository), "identity": known}


def _make_values(entry: Entry, epoch: int | None) -> dict[str, object]:
    event = entry.event
    ended = isinstance(event, Ended)
    return {
        "run": entry.run,
        "name": encode(entry.run),
        "epoch": epoch,
        "seq": entry.seq,
        "at": entry.at,
        "place": encode(entry.place),
        "key": encode(entry.key),
        "kind": event.__struct_config__.tag,
        "hash": entry.hash,
        "line": encode_line(entry),
        "repository": encode(event.repository if isinstance(event, Started) else ""),
        "identity": encode(event.identity if isinstance(event, Started) else ""),
        "people": entry.place == "people",
        "idle": entry.place == "people" or isinstance(event, Resumed | Answered),
        "ended": entry.at if ended else None,
        "outcome": event.outcome if isinstance(event, Ended) else "",
        "ended_seq": entry.seq if ended else None,
        "dollars": event.usage.dollars,
        "unpriced": event.usage.unpriced,
    }


def _try_append(values: dict[str, object], base: Connection) -> tuple[bool, bool]:
    """Return whether the run is still ours, and whether the entry was written."""
    row = base.execute(_APPEND, values).fetchone()
    return bool(row and row[0]), bool(row and row[1])
