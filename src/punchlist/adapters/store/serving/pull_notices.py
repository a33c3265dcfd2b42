"""Notices of forges about pull requests, in the ledger's SQLite file."""

import secrets
import sqlite3
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from punchlist.adapters.store.lease import FileLease
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.model.ledger import codec as wire
from punchlist.ports.serving.pull_notices import KeptNotice, PullNotice, Taken

_KEPT = 7 * 86400
"""Seconds for which a delivery is known, and a notice that is over is shown."""
_COLUMNS = (
    """place, number, forge, repository, head, "group", asked, stamp, at, tries, why, due, over"""
)
_PUT = """
  INSERT INTO pull_notices AS old (place, number, forge, repository, head, "group", asked, stamp,
    at, due)
  VALUES (:place, :number, :forge, :repository, :head, :group, CASE WHEN :again THEN :now END,
    :stamp, :now, :now)
  ON CONFLICT (place, number) DO UPDATE SET forge = excluded.forge, tries = 0, why = '',
    repository = excluded.repository, stamp = excluded.stamp, at = excluded.at,
    head = CASE WHEN excluded.head = '' AND NOT old.over THEN old.head ELSE excluded.head END,
    "group" = CASE WHEN excluded."group" = '' AND NOT old.over THEN old."group"
      ELSE excluded."group" END,
    asked = coalesce(excluded.asked, CASE WHEN NOT old.over THEN old.asked END),
    due = CASE WHEN old.over THEN excluded.due ELSE min(old.due, excluded.due) END, over = 0
"""
"""It keeps the place of the one that waits, and what only that one says."""
_AGAIN = """
  UPDATE pull_notices SET over = 0, tries = 0, why = '', stamp = ?, at = ?, due = ?
  WHERE place = ? AND number = ? AND over
"""


class SqliteNotices:
    """`home`: the folder for the locks of what is being answered."""

    def __init__(self, store: SqliteStore, home: Path) -> None:
        self._store = store
        self._home = home

    def put(self, place: str, notice: PullNotice, keys: Sequence[str], most: int) -> Taken:
        """Keep the notice and the keys of its delivery, both or none."""
        now, stamp = time.time(), secrets.token_hex(8)
        hashed = [sha256(key.encode(errors="surrogatepass")).hexdigest() for key in keys]
        marks = ", ".join("?" * len(hashed))
        with self._store.transaction() as base:
            base.execute("DELETE FROM notice_keys WHERE at < ?", (now - _KEPT,))
            base.execute("DELETE FROM pull_notices WHERE over AND at < ?", (now - _KEPT,))
            known = f"SELECT 1 FROM notice_keys WHERE key IN ({marks})"
            if base.execute(known, hashed).fetchone():
                again = base.execute(_AGAIN, (stamp, now, now, place, notice.number))
                return Taken.KEPT if again.rowcount else Taken.KNOWN
            if not _has_room(base, place, notice.number, most):
                return Taken.FULL
            base.executemany("INSERT INTO notice_keys VALUES (?, ?)", [(k, now) for k in hashed])
            fields = {name: getattr(notice, name) for name in notice.__struct_fields__}
            base.execute(_PUT, {**fields, "place": place, "stamp": stamp, "now": now})
            return Taken.KEPT

    def list_all(self) -> tuple[KeptNotice, ...]:
        """Return them, the oldest first; those that are over are kept for a week."""
        sql = f"SELECT {_COLUMNS} FROM pull_notices WHERE NOT over OR at >= ?1 ORDER BY due, number"
        now = time.time()
        return tuple(_make_notice(row, now) for row in self._store.fetch_rows(sql, (now - _KEPT,)))

    def find(self, place: str, number: int) -> KeptNotice | None:
        sql = f"SELECT {_COLUMNS} FROM pull_notices WHERE place = ?1 AND number = ?2"
        rows = self._store.fetch_rows(sql, (place, number))
        return _make_notice(rows[0], time.time()) if rows else None

    def hold(self, place: str, number: int) -> FileLease:
        """Lock the pull request. Raise AlreadyRunning if another process has it."""
        name = f"pull-{sha256(f'{place} {number}'.encode()).hexdigest()[:32]}.lock"
        return FileLease.acquire_path(self._home / "requests" / name, f"pull request {number}")

    def finish(self, kept: KeptNotice) -> bool:
        """Forget a notice that is answered; return False if a newer one has come meanwhile."""
        return self._change("DELETE FROM pull_notices", kept)

    def put_off(self, kept: KeptNotice, why: str, seconds: float) -> bool:
        """Let it be tried again after so many seconds; return False if a newer one has come."""
        sql = "UPDATE pull_notices SET tries = tries + 1, why = ?, due = ?"
        return self._change(sql, kept, wire.escape_text(why), time.time() + seconds)

    def give_up(self, kept: KeptNotice, why: str) -> bool:
        """Note why it cannot be answered; return False if a newer one has come meanwhile."""
        sql = "UPDATE pull_notices SET tries = tries + 1, why = ?, over = 1"
        return self._change(sql, kept, wire.escape_text(why))

    def _change(self, sql: str, kept: KeptNotice, *values: object) -> bool:
        where = f"{sql} WHERE place = ? AND number = ? AND stamp = ?"
        with self._store.transaction() as base:
            return base.execute(where, (*values, *kept.key, kept.stamp)).rowcount > 0


def _has_room(base: sqlite3.Connection, place: str, number: int, most: int) -> bool:
    """Return whether there is room, or one about the same pull request waits already."""
    sql = """SELECT count(*) < ? OR coalesce(max(place = ? AND number = ?), 0)
             FROM pull_notices WHERE NOT over"""
    return bool(base.execute(sql, (most, place, number)).fetchone()[0])


def _make_notice(row: Sequence[Any], now: float) -> KeptNotice:
    place, number, forge, repository, head, group, asked, stamp, at, tries, why, due, over = row
    again = asked is not None
    named = PullNotice(forge=forge, repository=repository, number=number)
    notice = replace(named, head=head, again=again, group=group)
    return KeptNotice(
        place=place,
        notice=notice,
        stamp=stamp,
        age=max(0.0, now - at),
        tries=tries,
        why=wire.unescape_text(why),
        asked=max(0.0, now - asked) if again else None,
        rest=max(0.0, due - now),
        over=bool(over),
    )
