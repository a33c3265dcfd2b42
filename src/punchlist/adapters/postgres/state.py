"""The state of a fleet: all but the files of runs is in PostgreSQL."""

import secrets
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from punchlist.adapters.postgres.access import PostgresAccess
from punchlist.adapters.postgres.connection import Database
from punchlist.adapters.postgres.leases import PostgresLeases, PostgresStops
from punchlist.adapters.postgres.ledger import PostgresStore
from punchlist.adapters.postgres.migrations import check_version
from punchlist.adapters.postgres.notices import PostgresNotices
from punchlist.adapters.postgres.pull_notices import PostgresPulls
from punchlist.adapters.postgres.queue import PostgresQueue
from punchlist.adapters.postgres.records import (
    PostgresAllowances,
    PostgresKeys,
    PostgresRepositories,
)
from punchlist.adapters.postgres.schedules import DbosSchedules
from punchlist.adapters.postgres.units import PostgresUnits
from punchlist.adapters.postgres.workers import PostgresWorkers
from punchlist.ports.state import Watching

LEASE = 15.0


class PostgresState:
    def __init__(self, url: str, home: Path, *, lease: float = LEASE, patience: float = 60) -> None:
        self._database = Database(url, patience=patience)
        with self._database.connect() as base:
            check_version(base)
        self._watching: list[PostgresNotices] = []
        self._lease = lease
        self.leases = PostgresLeases(self._database, lease)
        self.stops = PostgresStops(self._database)
        self.store = PostgresStore(self._database, self.leases.epochs)
        self.access = PostgresAccess(self._database, self.leases)
        self.keys = PostgresKeys(self._database)
        self.repositories = PostgresRepositories(self._database)
        self.allowances = PostgresAllowances(self._database)
        self.pulls = PostgresPulls(self._database, self.leases)

    def claim_run(self, run: str) -> bool:
        """Return whether this process may begin a run with that id: of several machines that chose
        the same one, the first.
        """
        return self.keys.claim_run(run, secrets.token_hex(16))

    def wait_for(self, seconds: float) -> None:
        """Let operations wait so long for a database that is away."""
        self._database.patience = seconds

    def watch(self, changed: Callable[[str], None]) -> Watching:
        """Call `changed` with the run of each new entry, from another thread, until it is closed or
        this state is.
        """
        notices = PostgresNotices(self._database, changed)
        self._watching.append(notices)
        return notices

    @cached_property
    def queue(self) -> PostgresQueue:
        return PostgresQueue(self._database)

    @cached_property
    def units(self) -> PostgresUnits:
        return PostgresUnits(self._database, self.leases.epochs)

    @property
    def schedules(self) -> DbosSchedules:
        return DbosSchedules(self.queue.workflows)

    @cached_property
    def workers(self) -> PostgresWorkers:
        return PostgresWorkers(self._database, self._lease)

    def close(self) -> None:
        for each in self._watching:
            each.close()
        self.access.close()
        self.leases.close()
        if "queue" in self.__dict__:
            self.queue.close()
        if "workers" in self.__dict__:
            self.workers.close()
        self._database.close()
