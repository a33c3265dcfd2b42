"""The fleet's queue in PostgreSQL: which run is next is one statement; DBOS executes it."""

from collections.abc import Sequence
from typing import Any

from punchlist.adapters.postgres.connection import Connection, Database, lock_and_fetch
from punchlist.adapters.postgres.ledger import append_within, decode, encode
from punchlist.adapters.postgres.workflows import PROTOCOL, Workflows
from punchlist.model.ledger.events import Entry, Interrupted, Started
from punchlist.ports.fleet.queue import Enqueued, Job, JobState, Priority, Reaped, Room

DEATHS = 10
"""So often a run may end a worker, or fail in one, before it is not tried again."""
QUEUED = "it waits in the queue for a worker"
TURN = 0x70756E6369
"""The advisory lock of the worker that takes a run or a unit: two must not both see room."""
FULL = """
  busy AS MATERIALIZED (
    SELECT repository, branch, agents FROM jobs WHERE state = 'running'
    UNION ALL SELECT jobs.repository, '', units.agents FROM units JOIN jobs USING (run)
      WHERE NOT over AND units.worker IN (
        SELECT id FROM workers WHERE until >= clock_timestamp())
    UNION ALL SELECT repository, '', agents FROM jobs
      WHERE state = 'queued' AND priority = 1 AND not_before > clock_timestamp()
  ), full_repositories AS (
    SELECT repository FROM busy GROUP BY repository
    HAVING %(repository)s > 0 AND count(*) >= %(repository)s
  ), full_agents AS (
    SELECT coalesce(array_agg(agent), '{}') AS names FROM (
      SELECT agent FROM busy, unnest(agents) AS agent GROUP BY agent
      HAVING %(agent)s > 0 AND count(*) >= %(agent)s
    ) AS counted
  )
"""
"""What has no room for more. A unit that another worker does counts as a run of its own, and an
interrupted run that waits before it is tried again keeps its room.
"""
_SELECT = """
  SELECT run, repository, branch, source, label, agents, subject, priority, state, worker, deaths,
    note, extract(epoch FROM clock_timestamp() - queued_at)::float8
  FROM jobs WHERE %(run)s IN ('', run) AND state = ANY(%(states)s)
  ORDER BY priority, queued_at, run
"""
_INSERT = """
  INSERT INTO jobs (run, repository, branch, source, label, agents, subject, priority, protocol,
    state)
  VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'queued')
"""
_SUPERSEDE = """
  UPDATE jobs SET state = 'superseded', note = %(note)s
  WHERE repository = %(repository)s AND subject = %(subject)s AND subject <> ''
    AND state = 'queued' AND taken_at IS NULL AND punchlist_acts_for(run)
  RETURNING run
"""
_NEXT = f"""
  WITH {FULL}, next AS (
    SELECT run FROM jobs
    WHERE state = 'queued' AND (label = '' OR label = ANY(%(labels)s))
      AND not_before <= clock_timestamp() AND protocol <= %(protocol)s
      AND NOT (agents && (SELECT names FROM full_agents))
      AND repository NOT IN (SELECT repository FROM full_repositories)
      AND (branch = '' OR (repository, branch) NOT IN (SELECT repository, branch FROM busy))
    ORDER BY priority, queued_at, run LIMIT 1
  )
  UPDATE jobs SET state = 'running', worker = %(worker)s, note = '',
    taken_at = clock_timestamp(), protocol = %(protocol)s
  WHERE run = (SELECT run FROM next) RETURNING run
"""
_HELD = """
  SELECT run FROM jobs WHERE state = 'running' AND worker = %(worker)s AND run <> ALL(%(known)s)
  LIMIT 1
"""
_NO_WORK = ("begun", "connectionrefused", "contained", "failed", "interrupted", "resumed")
"""Kinds of events that a run writes also if it gets no further."""
_TAKE_BACK = """
  UPDATE jobs SET
    (state, deaths, done, not_before) = (
      SELECT CASE WHEN %(died)s > 0 AND died >= %(most)s THEN 'stuck' ELSE 'queued' END, died, work,
        clock_timestamp() + interval '1 s' * greatest(%(delay)s,
          CASE WHEN %(died)s > 0 AND died > 2 THEN least(4, died - 2) ELSE 0 END)
      FROM (
        SELECT work, %(died)s + CASE WHEN work > jobs.done THEN 0 ELSE jobs.deaths END AS died
        FROM (SELECT count(*) AS work FROM entries
          WHERE entries.run = jobs.run AND kind <> ALL(%(no_work)s)) AS counted
      ) AS judged
    ), priority = %(priority)s, note = %(note)s
  WHERE state = 'running' AND CASE WHEN %(run)s <> '' THEN run = %(run)s AND worker = %(worker)s
    ELSE worker NOT IN (SELECT id FROM workers WHERE until >= clock_timestamp())
      AND NOT EXISTS (SELECT 1 FROM fences
        WHERE name = convert_to(jobs.run, 'UTF8') AND until >= clock_timestamp()) END
  RETURNING run, state
"""
"""Of one run of a worker, or of all runs of dead workers whose leases have ended, too. Deaths count
while the run gets no further: a run that does is not what its workers die of. From the third on,
the run waits for some seconds before it is tried again.
"""


class PostgresQueue:
    def __init__(self, database: Database, protocol: int = PROTOCOL) -> None:
        self._database = database
        self._protocol = protocol
        self.workflows = Workflows(database.url, protocol)

    def enqueue(self, job: Job, started: Started, at: float) -> Enqueued:
        """Write the run's first events and its place in the queue, both or none."""
        note = f"superseded by run {job.run}"
        values = {
            "repository": encode(job.repository),
            "subject": encode(job.subject),
            "note": encode(note),
        }
        first = Entry(run=job.run, seq=1, at=at, place="start", key="started", event=started)
        with self._database.connect() as base, base.transaction():
            rows = base.execute(_SUPERSEDE, values).fetchall()
            for (run,) in rows:
                append_within(base, _draft_stop(run, note, at))
            entry = append_within(base, first)
            append_within(base, _draft_stop(job.run, QUEUED, at))
            base.execute(_INSERT, (*_make_row(job), self._protocol))
        return Enqueued(entry, tuple(run for (run,) in rows))

    def requeue(self, run: str, priority: Priority) -> bool:
        """Queue a run again that waits, was stopped or is stuck; return whether it could be."""
        sql = """UPDATE jobs SET state = 'queued', priority = %s, deaths = 0, note = '',
                   queued_at = clock_timestamp(), not_before = '-infinity'
                 WHERE run = %s AND state <> ALL(%s) AND punchlist_acts_for(run) RETURNING run"""
        settled = [JobState.QUEUED, JobState.RUNNING, JobState.ENDED]
        return bool(self._database.fetch(sql, (int(priority), run, settled)))

    def cancel(self, run: str, by: str, at: float) -> bool:
        """Take a run out of the queue; return whether it was queued."""
        reason = f"stopped by {by}"
        sql = """UPDATE jobs SET state = 'stopped', note = %s
                 WHERE run = %s AND state = 'queued' AND punchlist_acts_for(run)"""

        def work(base: Connection) -> bool:
            with base.transaction():
                if not base.execute(sql, (encode(reason), run)).rowcount:
                    return False
                append_within(base, _draft_stop(run, reason, at))
                return True

        return self._database.run(work)

    def find(self, run: str) -> Job | None:
        rows = self._database.fetch(_SELECT, {"run": run, "states": list(JobState)})
        return _make_job(rows[0]) if rows else None

    def list_jobs(self, *states: JobState) -> list[Job]:
        """Return the runs in these states, in the order in which they are taken."""
        rows = self._database.fetch(_SELECT, {"run": "", "states": list(states)})
        return [_make_job(row) for row in rows]

    def take(
        self, worker: str, labels: Sequence[str], room: Room, known: Sequence[str] | None = None
    ) -> Job | None:
        """Give the next run to a worker, or None: one at a time of a branch, as there is room.
        With `known`, a run that the worker has and does not know comes first: the answer to an
        earlier call was lost.
        """
        values: dict[str, Any] = {
            "worker": worker,
            "labels": list(labels),
            "repository": room.repository,
            "agent": room.agent,
            "protocol": self._protocol,
            "known": list(known or ()),
        }

        def work(base: Connection) -> list[Any]:
            if known is not None and (held := base.execute(_HELD, values).fetchall()):
                return held
            if not base.execute("SELECT 1 FROM jobs WHERE state = 'queued' LIMIT 1").fetchone():
                return []
            return lock_and_fetch(base, TURN, _NEXT, values)

        rows = self._database.run(work)
        return self.find(rows[0][0]) if rows else None

    def finish(self, run: str, worker: str, state: JobState, note: str = "") -> bool:
        """Note what became of a run; return whether it was still this worker's."""
        sql = """UPDATE jobs SET state = %s, note = %s
                 WHERE run = %s AND worker = %s AND state = 'running' RETURNING run"""
        return bool(self._database.fetch(sql, (state, encode(note), run, worker)))

    def give_back(
        self, run: str, worker: str, note: str = "", *, died: bool = False, delay: float = 0
    ) -> bool:
        """Queue a worker's run again, before others; return whether it was still this worker's."""
        return bool(self._take_back(run, worker, note, died=died, delay=delay))

    def reap(self) -> Reaped:
        """Take back the runs of workers that gave no sign of life for the length of a lease."""
        rows = self._take_back("", "", "its worker died", died=True, delay=0)
        queued, stuck = (
            tuple(run for run, now in rows if now == state)
            for state in (JobState.QUEUED, JobState.STUCK)
        )
        return Reaped(queued, stuck)

    def _take_back(
        self, run: str, worker: str, note: str, *, died: bool, delay: float
    ) -> list[tuple[str, str]]:
        values = {
            "run": run,
            "worker": worker,
            "died": int(died),
            "most": DEATHS,
            "no_work": list(_NO_WORK),
            "priority": int(Priority.INTERRUPTED),
            "note": encode(note),
            "delay": delay,
        }
        return self._database.fetch(_TAKE_BACK, values)

    def close(self) -> None:
        self.workflows.close()


def _draft_stop(run: str, reason: str, at: float) -> Entry:
    return Entry(run=run, seq=0, at=at, place="signal", key="", event=Interrupted(reason=reason))


def _make_row(job: Job) -> tuple[object, ...]:
    return (
        job.run,
        encode(job.repository),
        encode(job.branch),
        encode(job.source),
        job.label,
        list(job.agents),
        encode(job.subject),
        int(job.priority),
    )


def _make_job(row: Sequence[Any]) -> Job:
    run, repository, branch, source, label, agents, subject, priority, state, *rest = row
    worker, deaths, note, waited = rest
    return Job(
        run=run,
        repository=decode(repository),
        branch=decode(branch),
        source=decode(source),
        label=label,
        agents=tuple(agents),
        subject=decode(subject),
        priority=Priority(priority),
        state=JobState(state),
        worker=worker,
        deaths=deaths,
        note=decode(note),
        waited=waited,
    )
