"""The state of a fleet: ledger, leases and stop requests in PostgreSQL."""

from pathlib import Path

from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.leases import PostgresLeases, PostgresStops
from punchlist.adapters.postgres.ledger import PostgresStore
from punchlist.adapters.postgres.migrations import check_version

LEASE = 15.0


class PostgresState:
    def __init__(self, url: str, home: Path, *, lease: float = LEASE, patience: float = 60) -> None:
        self._database = Database(url, patience=patience)
        with self._database.connect() as base:
            check_version(base)
        self.leases = PostgresLeases(self._database, lease)
        self.stops = PostgresStops(self._database)
        self.store = PostgresStore(self._database, self.leases.epochs)

    def close(self) -> None:
        self.leases.close()
        self._database.close()
