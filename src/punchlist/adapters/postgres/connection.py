"""Connections to PostgreSQL: a small pool, errors in plain words, patience while it is away."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from punchlist.adapters.backoff import retry_delay
from punchlist.errors import StoreError

R = TypeVar("R")
Connection = psycopg.Connection[Any]
_AWAY = (psycopg.OperationalError, PoolTimeout)
_PASSWORD = re.compile(r"(//[^/:@]*:)[^@/]*@|(password=)\S+")


class Database:
    """One database; safe for threads. `patience`: seconds for which an absent one is waited for."""

    def __init__(self, url: str, *, patience: float = 60, size: int = 4) -> None:
        self.url = url
        self._patience = patience
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=size,
            kwargs={"autocommit": True, "connect_timeout": 5},
            timeout=6,
            reconnect_timeout=1,
            open=True,
            check=ConnectionPool.check_connection,
        )

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a connection; raise StoreError for what the database refuses."""
        try:
            with self._pool.connection() as connection:
                yield connection
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            raise self._make_error(error) from error

    def run(self, work: Callable[[Connection], R]) -> R:
        """Do the work with a connection, again while the database is away: it must be such that it
        can be done twice.
        """
        until = time.monotonic() + self._patience
        tries = 0
        while True:
            try:
                with self.connect() as connection:
                    return work(connection)
            except StoreError as error:
                if not isinstance(error.__cause__, _AWAY) or time.monotonic() > until:
                    raise
            tries += 1
            time.sleep(retry_delay(tries, 1, first=0.1, longest=1))

    def fetch(self, sql: str, values: tuple[object, ...] | dict[str, object] = ()) -> list[Any]:
        return self.run(lambda connection: connection.execute(sql, values).fetchall())

    def execute(self, sql: str, values: tuple[object, ...] | dict[str, object] = ()) -> int:
        """Execute a statement that may be repeated; return how many rows it touched."""
        return self.run(lambda connection: connection.execute(sql, values).rowcount)

    def close(self) -> None:
        self._pool.close()

    def _make_error(self, error: Exception) -> StoreError:
        where = hide_password(self.url)
        why = " ".join(str(error).split()) or type(error).__name__
        hint = "see that the database runs and this machine may use it; then: punchlist resume"
        return StoreError(f"{where}: {hide_password(why)}", hint=hint)


def hide_password(text: str) -> str:
    return _PASSWORD.sub(
        lambda found: f"{found[1] or found[2]}***" + ("@" if found[1] else ""), text
    )
