"""Notices of forges about pull requests in PostgreSQL; only the database's clock counts."""

import secrets
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from punchlist.adapters.postgres.connection import Connection, Database
from punchlist.adapters.postgres.leases import PostgresLease, PostgresLeases
from punchlist.adapters.postgres.ledger import decode, encode
from punchlist.adapters.postgres.records import hash_key
from punchlist.ports.serving.pull_notices import KeptNotice, PullNotice, Taken

_KEPT = "interval '7 days'"
"""For so long a delivery is known, and a notice that is over is shown."""
_SELECT = f"""
  SELECT place, number, forge, repository, head, "group",
    extract(epoch FROM clock_timestamp() - asked)::float8, stamp,
    extract(epoch FROM clock_timestamp() - at)::float8, tries, why,
    greatest(0, extract(epoch FROM due - clock_timestamp()))::float8, over
  FROM pull_notices
  WHERE (NOT over OR at >= clock_timestamp() - {_KEPT})
    AND (%(place)s = '' OR place = %(place)s AND number = %(number)s)
  ORDER BY due, number
"""
_FORGET = f"""
  WITH keys AS (DELETE FROM request_keys WHERE at < clock_timestamp() - {_KEPT})
  DELETE FROM pull_notices WHERE over AND at < clock_timestamp() - {_KEPT}
"""
_ADD_KEYS = """
  INSERT INTO request_keys (key, request, run) SELECT unnest(%(keys)s::text[]), '', %(stamp)s
  ON CONFLICT DO NOTHING
"""
_ROOM = """
  SELECT count(*) < %(most)s OR coalesce(bool_or(place = %(place)s AND number = %(number)s), false)
  FROM pull_notices WHERE NOT over
"""
_PUT = """
  INSERT INTO pull_notices AS old (place, number, forge, repository, head, "group", asked, stamp)
  VALUES (%(place)s, %(number)s, %(forge)s, %(repository)s, %(head)s, %(group)s,
    CASE WHEN %(again)s THEN clock_timestamp() END, %(stamp)s)
  ON CONFLICT (place, number) DO UPDATE SET forge = excluded.forge, tries = 0, why = '',
    repository = excluded.repository, stamp = excluded.stamp, at = excluded.at,
    head = CASE WHEN excluded.head = '' AND NOT old.over THEN old.head ELSE excluded.head END,
    "group" = CASE WHEN excluded."group" = '' AND NOT old.over THEN old."group"
      ELSE excluded."group" END,
    asked = coalesce(excluded.asked, CASE WHEN NOT old.over THEN old.asked END),
    due = CASE WHEN old.over THEN excluded.due ELSE least(old.due, excluded.due) END, over = false
"""
"""It keeps the place of the one that waits, and what only that one says."""
_AGAIN = """
  UPDATE pull_notices SET over = false, tries = 0, why = '', stamp = %(stamp)s,
    at = clock_timestamp(), due = clock_timestamp()
  WHERE place = %(place)s AND number = %(number)s AND over
"""


class PostgresPulls:
    def __init__(self, database: Database, leases: PostgresLeases) -> None:
        self._database = database
        self._leases = leases

    def put(self, place: str, notice: PullNotice, keys: Sequence[str], most: int) -> Taken:
        """Keep the notice and the keys of its delivery, both or none."""
        hashed = [hash_key(key) for key in keys]
        values: dict[str, object] = {
            **{name: getattr(notice, name) for name in notice.__struct_fields__},
            "place": place,
            "stamp": secrets.token_hex(8),
            "keys": hashed,
            "most": most,
        }

        def work(base: Connection) -> Taken:
            with base.transaction():
                base.execute(_FORGET)
                known = "SELECT 1 FROM request_keys WHERE key = ANY(%(keys)s)"
                if base.execute(known, values).fetchone():
                    return Taken.KEPT if base.execute(_AGAIN, values).rowcount else Taken.KNOWN
                row = base.execute(_ROOM, values).fetchone()
                if row and not row[0]:
                    return Taken.FULL
                if base.execute(_ADD_KEYS, values).rowcount < len(hashed):
                    return Taken.KNOWN  # another server takes it at this moment
                base.execute(_PUT, values)
                return Taken.KEPT

        return self._database.run(work)

    def list_all(self) -> tuple[KeptNotice, ...]:
        """Return them, the oldest first; those that are over are kept for a week."""
        return self._select("", 0)

    def find(self, place: str, number: int) -> KeptNotice | None:
        return next(iter(self._select(place, number)), None)

    def hold(self, place: str, number: int) -> PostgresLease:
        """Take the lease of the pull request. Raise AlreadyRunning if another process has it."""
        return self._leases.acquire(f"pull {place} {number}")

    def finish(self, kept: KeptNotice) -> bool:
        """Forget a notice that is answered; return False if a newer one has come meanwhile."""
        return self._change("DELETE FROM pull_notices", kept)

    def put_off(self, kept: KeptNotice, why: str, seconds: float) -> bool:
        """Let it be tried again after so many seconds; return False if a newer one has come."""
        sql = """UPDATE pull_notices SET tries = tries + 1, why = %s,
                   due = clock_timestamp() + %s * interval '1 s'"""
        return self._change(sql, kept, encode(why), seconds)

    def give_up(self, kept: KeptNotice, why: str) -> bool:
        """Note why it cannot be answered; return False if a newer one has come meanwhile."""
        sql = "UPDATE pull_notices SET tries = tries + 1, why = %s, over = true"
        return self._change(sql, kept, encode(why))

    def _select(self, place: str, number: int) -> tuple[KeptNotice, ...]:
        rows = self._database.fetch(_SELECT, {"place": place, "number": number})
        return tuple(map(_make_notice, rows))

    def _change(self, sql: str, kept: KeptNotice, *values: object) -> bool:
        where = f"{sql} WHERE place = %s AND number = %s AND stamp = %s"
        return self._database.execute(where, (*values, *kept.key, kept.stamp)) > 0


def _make_notice(row: Sequence[Any]) -> KeptNotice:
    place, number, forge, repository, head, group, asked, stamp, age, tries, why, rest, over = row
    again = asked is not None
    named = PullNotice(forge=forge, repository=repository, number=number)
    notice = replace(named, head=head, again=again, group=group)
    return KeptNotice(
        place=place,
        notice=notice,
        stamp=stamp,
        age=age,
        tries=tries,
        why=decode(why),
        asked=asked,
        rest=rest,
        over=over,
    )
