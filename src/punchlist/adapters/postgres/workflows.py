"""DBOS on the fleet's own database: a run is one workflow, with the run's id.

The queue's table says which worker has a run; each worker has a DBOS queue of its own, into which
the runs that it took are put. DBOS is imported when it is first needed: it takes half a second.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import psycopg

from punchlist.adapters.postgres.connection import (
    AWAY,
    OPTIONS,
    Connection,
    bound_transactions,
    hide_password,
)
from punchlist.adapters.postgres.schedules import TICK, read_schedule
from punchlist.errors import StoreAway, StoreError
from punchlist.ports.fleet.schedule import Tick

if TYPE_CHECKING:
    from dbos import DBOSClient
    from sqlalchemy import Engine

PROTOCOL = 7
"""DBOS's application version. It is raised when a worker of the version before could not go on with
a run, as with each new setting, which that one refuses to read: a test holds it to what is read.
Workers take runs of their own protocol and of earlier ones, which are of theirs then.
"""
_NAME = "punchlist"
_DRIVE = "drive"
_POLL = 1.0
"""How often DBOS looks into a worker's own queue; each look is a dozen statements."""
_LOOK_FOR_SCHEDULES = 5.0
_SCHEMA = "dbos"
_SET_VERSION = (
    "UPDATE dbos.workflow_status SET application_version = :version WHERE workflow_uuid = :run"
)


class Workflows:
    """The workflows in one database, for processes that queue runs and for workers."""

    def __init__(self, url: str, protocol: int = PROTOCOL) -> None:
        self._url = url
        self._version = str(protocol)

    @cached_property
    def _engine(self) -> "Engine":
        from sqlalchemy import create_engine

        return create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            pool_size=4,
            max_overflow=6,
            pool_pre_ping=True,
        )

    def _connect(self) -> Connection:
        connection = psycopg.connect(self._url, **OPTIONS)
        bound_transactions(connection)
        return connection

    @cached_property
    def client(self) -> "DBOSClient":
        from dbos import DBOSClient, DBOSPortableJSONSerializer

        return DBOSClient(
            system_database_engine=self._engine,
            dbos_system_schema=_SCHEMA,
            serializer=DBOSPortableJSONSerializer(),
            application_name=_NAME,
        )

    @contextmanager
    def convert_errors(self) -> Iterator[None]:
        """Raise StoreError for what the database or DBOS refuses, StoreAway if it is not there."""
        from dbos import error as failures
        from sqlalchemy.exc import DBAPIError

        try:
            yield
        except (psycopg.Error, DBAPIError, failures.DBOSException, ValueError) as error:
            raise self._make_error(error) from error

    def start(self, run: str, worker: str) -> None:
        """Put a run into a worker's queue, also if DBOS does not know it, or calls it over. Raise
        StoreError.
        """
        client, queue = self.client, name_queue(worker)
        with self.convert_errors():
            known = next(
                iter(
                    client.list_workflows(workflow_ids=[run], load_input=False, load_output=False)
                ),
                None,
            )
            if known is None:
                options: Any = {
                    "workflow_name": _DRIVE,
                    "queue_name": queue,
                    "workflow_id": run,
                    "app_version": self._version,
                }
                client.enqueue(options, run)
            elif known.status in {"SUCCESS", "ERROR"}:
                client.rewind_workflow(run, queue_name=queue, application_version=self._version)
            else:
                if known.app_version != self._version:
                    self._set_version(run)
                client.resume_workflows([run], queue_name=queue)

    def _set_version(self, run: str) -> None:
        """Let workers of this protocol execute a run of an earlier one."""
        from sqlalchemy import text

        sql = text(_SET_VERSION)
        with self._engine.begin() as lent:
            lent.execute(sql, {"version": self._version, "run": run})

    def listen(self, worker: str, drive: Callable[[str], str], tick: Callable[[Tick], str]) -> None:
        """Let this process, once, execute with `drive` the runs that are put into its queue, and
        with `tick` the schedules that are due, each with the time that it was due; they are called
        in threads of their own and return what became of it.
        """
        from dbos import DBOS, DBOSPortableJSONSerializer

        DBOS(
            config={
                "name": _NAME,
                "system_database_engine": self._engine,
                "dbos_system_schema": _SCHEMA,
                "executor_id": worker,
                "application_version": self._version,
                "run_migrations": False,
                "log_level": "CRITICAL",
                "scheduler_polling_interval_sec": _LOOK_FOR_SCHEDULES,
                "serializer": DBOSPortableJSONSerializer(),
            }
        )
        DBOS.workflow(name=_DRIVE)(drive)
        DBOS.workflow(name=TICK)(lambda due, context: tick(Tick(read_schedule(context), str(due))))
        DBOS.listen_queues([name_queue(worker)])
        DBOS.launch()
        DBOS.register_queue(name_queue(worker), polling_interval_sec=_POLL)

    def forget_worker(self, worker: str) -> None:
        """Delete the queue of a worker that is no more."""
        with self.convert_errors():
            self.client.delete_queue(name_queue(worker))

    def stop_listening(self) -> None:
        from dbos import DBOS

        DBOS.destroy(workflow_completion_timeout_sec=0)

    def close(self) -> None:
        if "client" in self.__dict__:
            self.client.destroy()
        if "_engine" in self.__dict__:
            self._engine.dispose()

    def _make_error(self, error: Exception) -> StoreError:
        said = getattr(error, "orig", None) or error  # of SQLAlchemy's, without the statement
        why = hide_password(" ".join(str(said).split()))
        hint = "see that the database runs; `punchlist store upgrade` makes what is missing"
        kind = StoreAway if isinstance(said, AWAY) else StoreError
        return kind(f"{hide_password(self._url)}: {why}", hint=hint)


def name_queue(worker: str) -> str:
    return f"worker {worker}"


def migrate_workflows(url: str) -> None:
    """Make DBOS's own tables, or bring them to the version that is installed."""
    from dbos import DBOS
    from sqlalchemy import make_url

    address = make_url(url).set(drivername="postgresql+psycopg")
    DBOS.migrate(address.render_as_string(hide_password=False), schema=_SCHEMA)
