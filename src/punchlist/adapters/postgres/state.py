"""The state of a fleet: ledger, leases and stop requests in PostgreSQL."""

from functools import cached_property
from pathlib import Path

from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.leases import PostgresLeases, PostgresStops
from punchlist.adapters.postgres.ledger import PostgresStore
from punchlist.adapters.postgres.migrations import check_version
from punchlist.adapters.postgres.queue import PostgresQueue
from punchlist.adapters.postgres.schedules import DbosSchedules
from punchlist.adapters.postgres.workers import PostgresWorkers

LEASE = 15.0


class PostgresState:
    def __init__(self, url: str, home: Path, *, lease: float = LEASE, patience: float = 60) -> None:
        self._database = Database(url, patience=patience)
        with self._database.connect() as base:
            check_version(base)
        self._lease = lease
        self.leases = PostgresLeases(self._database, lease)
        self.stops = PostgresStops(self._database)
        self.store = PostgresStore(self._database, self.leases.epochs)

    @cached_property
    def queue(self) -> PostgresQueue:
        return PostgresQueue(self._database)

    @property
    def schedules(self) -> DbosSchedules:
        return DbosSchedules(self.queue.workflows)

    @cached_property
    def workers(self) -> PostgresWorkers:
        return PostgresWorkers(self._database, self._lease)

    def close(self) -> None:
        self.leases.close()
        if "queue" in self.__dict__:
            self.queue.close()
        if "workers" in self.__dict__:
            self.workers.close()
        self._database.close()
