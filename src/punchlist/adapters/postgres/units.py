"""Units in PostgreSQL: a row for each, which its driver writes and deletes, and one worker takes.

Nothing else than the row says who has a unit. A report finds no row once the driver has taken the
unit back, and what a driver without its lease would make of it the ledger refuses.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import MsgspecError

from punchlist.adapters.postgres.connection import Connection, Database, lock_and_fetch
from punchlist.adapters.postgres.queue import FULL, TURN
from punchlist.model.ledger import codec as wire
from punchlist.ports.fleet.units import Taker, Unit, UnitReport, UnitState, UnitTask

_OFFER = """
  INSERT INTO units (id, run, epoch, driver, version, agents, task)
  VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""
_LIST = """
  SELECT id, worker, over, report,
    beat_at >= clock_timestamp() - interval '1 min' AND EXISTS (
      SELECT 1 FROM workers WHERE workers.id = units.worker AND until >= clock_timestamp())
  FROM units WHERE run = %s ORDER BY offered_at
"""
_IDLE = f"""
  WITH {FULL}, mine AS (
    SELECT repository, label FROM jobs WHERE run = %(run)s
  ), idle AS (
  SELECT coalesce(sum(greatest(0, workers.width
      - (SELECT count(*) FROM jobs WHERE state = 'running' AND worker = workers.id)
      - (SELECT count(*) FROM units WHERE worker = workers.id AND NOT over))), 0)
    - (SELECT count(*) FROM units WHERE worker = '' AND run <> %(run)s) AS places
  FROM workers, mine
  WHERE workers.until >= clock_timestamp() AND NOT draining AND workers.id <> %(worker)s
    AND version = %(version)s AND (label = '' OR label = ANY(labels))
  )
  SELECT greatest(0, CASE WHEN %(repository)s = 0 THEN places ELSE least(places,
    %(repository)s - (SELECT count(*) FROM busy JOIN mine USING (repository))) END) FROM idle
"""
_DRIVEN = """EXISTS (SELECT 1 FROM fences WHERE fences.epoch = units.epoch
  AND name = convert_to(units.run, 'UTF8') AND until >= clock_timestamp())"""
_TAKE = f"""
  WITH {FULL}, next AS (
    SELECT units.id FROM units JOIN jobs USING (run)
    WHERE units.worker = '' AND NOT withdrawn AND driver <> %(worker)s AND version = %(version)s
      AND units.run <> ALL(%(unfit)s) AND (label = '' OR label = ANY(%(labels)s))
      AND NOT (units.agents && (SELECT names FROM full_agents))
      AND repository NOT IN (SELECT repository FROM full_repositories) AND {_DRIVEN}
    ORDER BY offered_at LIMIT 1
  )
  UPDATE units SET worker = %(worker)s, beat_at = clock_timestamp() WHERE id = (SELECT id FROM next)
  RETURNING id, run, driver, version, agents, task
"""
_BEAT = f"SELECT elsewhere FROM units WHERE id = %s AND worker = %s AND NOT withdrawn AND {_DRIVEN}"
_REPORT = """
  UPDATE units SET report = %s, over = %s, beat_at = clock_timestamp()
  WHERE id = %s AND worker = %s AND NOT over
"""


class PostgresUnits:
    """`epochs`: the epoch in which this process drives a run."""

    def __init__(self, database: Database, epochs: Mapping[str, int]) -> None:
        self._database = database
        self._epochs = epochs

    def offer(self, unit: Unit) -> None:
        """Offer a unit under the lease that this process has of its run."""
        epoch, task = self._epochs[unit.run], wire.encode(unit.task)
        row = (unit.id, unit.run, epoch, unit.driver, unit.version, list(unit.agents), task)
        self._database.execute(_OFFER, row)

    def list_states(self, run: str) -> Sequence[UnitState]:
        """Return the units of a run, also those of its earlier drivers."""
        return [
            UnitState(id=unit, worker=worker, alive=alive, over=over, report=_decode(report))
            for unit, worker, over, report, alive in self._database.fetch(_LIST, (run,))
        ]

    def count_idle(self, run: str, driver: Taker) -> int:
        """Return how many places for units of the run are free on workers other than its driver."""
        values = {**_make_values(driver), "run": run}
        return int(self._database.fetch(_IDLE, values)[0][0])

    def withdraw(self, unit: str) -> None:
        """Let the worker that has the unit end it."""
        self._database.execute("UPDATE units SET withdrawn = true WHERE id = %s", (unit,))

    def remove(self, unit: str, *, untaken: bool = False) -> bool:
        """Delete a unit, with `untaken` only if no worker has taken it; return whether it was."""
        sql = "DELETE FROM units WHERE id = %s AND (worker = '' OR NOT %s)"
        return self._database.execute(sql, (unit, untaken)) > 0

    def set_elsewhere(self, unit: str, dollars: float) -> None:
        """Note what the run has spent outside of the unit."""
        self._database.execute("UPDATE units SET elsewhere = %s WHERE id = %s", (dollars, unit))

    def take(self, taker: Taker) -> Unit | None:
        """Give the oldest unit to a worker, as there is room, if its driver lives; or None."""
        values = _make_values(taker)

        def work(base: Connection) -> list[Any]:
            if not base.execute("SELECT 1 FROM units WHERE worker = '' LIMIT 1").fetchone():
                return []
            return lock_and_fetch(base, TURN, _TAKE, values)

        rows = self._database.run(work)
        if not rows:
            return None
        name, run, driver, version, agents, task = rows[0]
        return Unit(
            id=name,
            run=run,
            driver=driver,
            version=version,
            agents=tuple(agents),
            task=wire.decode(task, UnitTask),
        )

    def beat(self, unit: str, worker: str, report: UnitReport | None) -> float | None:
        """Write the report, if there is one; return what the run has spent elsewhere, or None if
        the worker must end the unit: it was withdrawn, or its driver has lost its lease.
        """
        if report is not None:
            self._write(unit, worker, report, over=False)
        rows = self._database.fetch(_BEAT, (unit, worker))
        return float(rows[0][0]) if rows else None

    def finish(self, unit: str, worker: str, report: UnitReport) -> bool:
        """Write the last report; return whether the unit was still this worker's."""
        return self._write(unit, worker, report, over=True)

    def _write(self, unit: str, worker: str, report: UnitReport, *, over: bool) -> bool:
        return self._database.execute(_REPORT, (wire.encode(report), over, unit, worker)) > 0


def _make_values(taker: Taker) -> dict[str, Any]:
    return {
        "worker": taker.worker,
        "labels": list(taker.labels),
        "version": taker.version,
        "unfit": list(taker.unfit),
        "repository": taker.room.repository,
        "agent": taker.room.agent,
    }


def _decode(report: bytes) -> UnitReport:
    """Return the report; one that another version wrote tells nothing."""
    try:
        return wire.decode(report, UnitReport) if report else UnitReport()
    except MsgspecError:
        return UnitReport(why="its report cannot be read")
