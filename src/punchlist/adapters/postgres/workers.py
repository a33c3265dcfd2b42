"""The workers of a fleet in PostgreSQL: a row for each, whose end a heartbeat puts off."""

from threading import Event, Thread

from punchlist.adapters.postgres.connection import Database
from punchlist.errors import StoreError
from punchlist.ports.fleet.queue import WorkerInfo

_BEAT = """
  INSERT INTO workers AS known (id, machine, pid, labels, width, version, until)
  VALUES (%(id)s, %(machine)s, %(pid)s, %(labels)s, %(width)s, %(version)s,
    clock_timestamp() + %(seconds)s * interval '1 s')
  ON CONFLICT (id) DO UPDATE SET beat_at = clock_timestamp(), until = excluded.until
"""
_LIST = """
  SELECT id, machine, pid, labels, width, version, draining,
    extract(epoch FROM clock_timestamp() - beat_at)::float8, until >= clock_timestamp(),
    (SELECT count(*) FROM units WHERE worker = workers.id AND NOT over)
  FROM workers ORDER BY machine, pid, id
"""


class PostgresWorkers:
    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self._seconds = seconds
        self._over = Event()
        self._heart: Thread | None = None

    def register(self, info: WorkerInfo) -> None:
        """Add the worker, and give signs of life for it until it is removed."""
        self._database.run(lambda base: base.execute(_BEAT, self._make_values(info)))
        self._heart = Thread(target=self._beat, args=(info,), name="punchlist-worker", daemon=True)
        self._heart.start()

    def set_draining(self, worker: str) -> None:
        sql = "UPDATE workers SET draining = true WHERE id = %s"
        self._database.run(lambda base: base.execute(sql, (worker,)))

    def remove(self, worker: str) -> None:
        self.close()
        sql = "DELETE FROM workers WHERE id = %s"
        self._database.run(lambda base: base.execute(sql, (worker,)))

    def list_all(self) -> list[WorkerInfo]:
        return [
            WorkerInfo(
                id=row[0],
                machine=row[1],
                pid=row[2],
                labels=tuple(row[3]),
                width=row[4],
                version=row[5],
                draining=row[6],
                idle_for=row[7],
                alive=row[8],
                units=row[9],
            )
            for row in self._database.fetch(_LIST)
        ]

    def forget_dead(self, hours: float = 1) -> list[str]:
        """Delete workers that have long been dead and have no run; return their ids. With them go
        units of runs that have ended.
        """
        sql = """WITH old AS (DELETE FROM units USING jobs
                   WHERE jobs.run = units.run AND state = 'ended'
                     AND offered_at < clock_timestamp() - interval '1 h')
                 DELETE FROM workers WHERE until < clock_timestamp() - %s * interval '1 h'
                 AND id NOT IN (SELECT worker FROM jobs WHERE state = 'running') RETURNING id"""
        return [worker for (worker,) in self._database.fetch(sql, (hours,))]

    def close(self) -> None:
        self._over.set()
        if self._heart is not None:
            self._heart.join(timeout=5)

    def _beat(self, info: WorkerInfo) -> None:
        values = self._make_values(info)
        while not self._over.wait(self._seconds / 3):
            try:
                with self._database.connect() as base:
                    base.execute(_BEAT, values)
            except StoreError:
                continue  # the database is away; what this worker drives waits for it as well

    def _make_values(self, info: WorkerInfo) -> dict[str, object]:
        return {
            "id": info.id,
            "machine": info.machine,
            "pid": info.pid,
            "labels": list(info.labels),
            "width": info.width,
            "version": info.version,
            "seconds": self._seconds,
        }
