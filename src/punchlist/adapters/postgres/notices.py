"""Notices of new entries: a thread listens, and tells at once when the database is away."""

from collections.abc import Callable
from threading import Event, Thread

import psycopg

from punchlist.adapters.backoff import retry_delay
from punchlist.adapters.postgres.connection import OPTIONS, Database

CHANNEL = "punchlist_ledger"
_PROBE = 2.0
"""Seconds without a notice after which the connection is tried."""


class PostgresNotices:
    """Calls `changed` with the id of each run that has a new entry, and with '' after a time in
    which notices may have been missed.
    """

    def __init__(self, database: Database, changed: Callable[[str], None]) -> None:
        self._database = database
        self._changed = changed
        self._over = Event()
        self._connection: psycopg.Connection[tuple[object, ...]] | None = None
        self._thread = Thread(target=self._run, name="punchlist-notices", daemon=True)
        self._thread.start()

    @property
    def live(self) -> bool:
        """Whether it listens at this moment."""
        return self._connection is not None

    def close(self) -> None:
        self._over.set()
        self._thread.join(timeout=2 * _PROBE)

    def _run(self) -> None:
        tries = 0
        while not self._over.is_set():
            try:
                with psycopg.connect(self._database.url, autocommit=True, **OPTIONS) as base:
                    base.execute(f"LISTEN {CHANNEL}")
                    tries = 0
                    self._connection = base
                    self._database.away = False
                    self._changed("")
                    self._pass_on(base)
            except psycopg.Error:
                self._database.away = not self._over.is_set()
                tries += 1
            finally:
                self._connection = None
            self._over.wait(retry_delay(tries, 1, first=0.05, longest=0.5) if tries else 0)

    def _pass_on(self, base: "psycopg.Connection[tuple[object, ...]]") -> None:
        while not self._over.is_set():
            count = 0
            for notice in base.notifies(timeout=_PROBE):
                count += 1
                self._changed(notice.payload)
            if not count:
                base.execute("SELECT 1")
