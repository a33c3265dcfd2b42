"""Connections to PostgreSQL: a small pool, errors in plain words, patience while it is away."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from punchlist.adapters.backoff import retry_delay
from punchlist.errors import StoreAway, StoreError

R = TypeVar("R")
Connection = psycopg.Connection[Any]
AWAY = (psycopg.OperationalError, psycopg.errors.IdleInTransactionSessionTimeout, PoolTimeout)
"""What passes: the same work can be done with another connection."""
OPTIONS: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
"""A network that swallows everything is noticed in seconds."""
_HELD = "SET idle_in_transaction_session_timeout = '3s'"
"""A process that is stopped, or cut off, in a transaction would hold its locks: the database ends
it, and other processes go on.
"""
_SLOW = 6.0
_FAST = 2.0
"""Seconds to wait for a connection, with and without patience."""
_PASSWORD = re.compile(r"(//[^/:@]*:)[^@/]*@|(password=)\S+")


class Database:
    """One database; safe for threads. `patience`: seconds for which an absent one is waited for.
    Without patience it fails at once while `away`, which a thread that listens keeps up to date.
    """

    def __init__(self, url: str, *, patience: float = 60, size: int = 4) -> None:
        self.url = url
        self.patience = patience
        self.away = False
        self._pool = ConnectionPool(
            url,
            min_size=0,
            max_size=size,
            kwargs={"autocommit": True, **OPTIONS},
            timeout=_SLOW,
            reconnect_timeout=1,
            open=True,
            configure=bound_transactions,
            check=ConnectionPool.check_connection,
        )

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Lend a connection; raise StoreError for what the database refuses, and StoreAway if it
        cannot be reached.
        """
        if self.away and not self.patience:
            raise self._make_error(psycopg.OperationalError("the connection was lost"))
        try:
            with self._pool.connection(_SLOW if self.patience else _FAST) as connection:
                yield connection
        except (psycopg.Error, PoolTimeout, PoolClosed) as error:
            raise self._make_error(error) from error

    def run(self, work: Callable[[Connection], R]) -> R:
        """Do the work with a connection, again while the database is away: it must be such that it
        can be done twice.
        """
        until = time.monotonic() + self.patience
        tries = 0
        while True:
            try:
                with self.connect() as connection:
                    return work(connection)
            except StoreAway:
                if time.monotonic() >= until:
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
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint = "ask for a role that may: `punchlist store upgrade` names them"
        kind = StoreAway if isinstance(error, AWAY) else StoreError
        return kind(f"{where}: {hide_password(why)}", hint=hint)


def bound_transactions(connection: Connection) -> None:
    """Let the database end transactions in which it hears nothing for some seconds."""
    connection.execute(_HELD)
    if not connection.autocommit:
        connection.commit()


def lock_and_fetch(
    connection: Connection, lock: int, sql: str, values: dict[str, Any]
) -> list[Any]:
    """Execute a statement under an advisory lock, in one round trip; return its rows. What is sent
    at once also ends if this process is stopped meanwhile.
    """
    with connection.pipeline(), connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock,))
        done = connection.execute(sql, values)
    return done.fetchall()


def hide_password(text: str) -> str:
    return _PASSWORD.sub(
        lambda found: f"{found[1] or found[2]}***" + ("@" if found[1] else ""), text
    )
