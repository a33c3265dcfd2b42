"""What all processes that share a store do at this moment, and what was spent today."""

import socket
from collections.abc import Callable, Iterator, Sequence

from punchlist.app.drive.budget import start_of_day
from punchlist.app.session import Session
from punchlist.model.ledger.run_row import RunRow
from punchlist.ports.fleet.queue import Job, JobState, WorkerInfo
from punchlist.ports.state import LeaseHolder
from punchlist.views.run_state import State, find_state
from punchlist.views.tables.fleet import Fleet, FleetDriver, FleetQueue, FleetRun, FleetWorker

_LISTS = {
    State.UNDER_WAY: "running",
    State.WAITING: "waiting",
    State.STOPPED: "stopped",
    State.KILLED: "stuck",
}


def load_fleet(
    session: Session, now: float, names: Callable[[str], str | None] = lambda name: name
) -> Fleet:
    """Return how all runs of the store stand; those that have ended are only counted. `names` gives
    the name of a repository to show; None leaves its runs out. Workers and queues are those of all
    repositories.
    """
    day = start_of_day(now)
    queue, workers = session.state.queue, session.state.workers
    known = workers.list_all() if workers is not None else ()
    jobs = queue.list_jobs(JobState.QUEUED, JobState.RUNNING, JobState.STUCK) if queue else ()
    rows = [row for row in session.store.runs() if names(row.repository) is not None]
    lists: dict[str, list[FleetRun]] = {name: [] for name in _LISTS.values()}
    for row, holder, job in _list_unended(session, rows, jobs):
        run = _make_run(row, names(row.repository) or "", holder, job, now)
        if run.state in _LISTS:
            lists[_LISTS[run.state]].append(run)
    spent = session.store.sum_usage(day)
    return Fleet(
        **{name: tuple(runs) for name, runs in lists.items()},
        workers=None if workers is None else count_runs(known, jobs),
        queues=None if queue is None else sum_queues(jobs, known),
        drivers=_list_drivers(lists["running"]),
        begun_today=sum(row.started_at >= day for row in rows),
        ended_today=sum(row.ended_at >= day for row in rows if row.outcome),
        dollars_today=spent.dollars,
        unpriced_today=spent.unpriced,
        daily_limit=session.settings().settings.limits.daily,
    )


def _list_unended(
    session: Session, rows: Sequence[RunRow], jobs: Sequence[Job]
) -> Iterator[tuple[RunRow, LeaseHolder | None, Job | None]]:
    """Yield the runs that have not ended, each with its driver and its place in the queue."""
    open_rows = [row for row in rows if not row.outcome]
    holders = session.state.leases.find_holders([row.id for row in open_rows])
    places = {job.run: job for job in jobs}
    for row in open_rows:
        yield row, holders.get(row.id), places.get(row.id)


def _make_run(
    row: RunRow, name: str, holder: LeaseHolder | None, job: Job | None, now: float
) -> FleetRun:
    queued = job is not None and job.state is JobState.QUEUED
    given_up = holder is None and job is not None and job.state is JobState.STUCK
    state = find_state(row, driven=holder is not None, queued=queued)
    return FleetRun(
        run=row.id,
        repository=name,
        state=State.KILLED if given_up else state,
        age=max(0.0, now - row.last_at),
        given_up=given_up,
        machine=holder.machine or socket.gethostname() if holder else "",
        pid=holder.pid if holder else 0,
        lease=holder.left if holder else 0,
    )


def _list_drivers(running: Sequence[FleetRun]) -> tuple[FleetDriver, ...]:
    drivers: dict[tuple[str, int], list[str]] = {}
    for run in running:
        drivers.setdefault((run.machine, run.pid), []).append(run.run)
    return tuple(
        FleetDriver(machine=machine, pid=pid, runs=tuple(runs))
        for (machine, pid), runs in sorted(drivers.items())
    )


def count_runs(workers: Sequence[WorkerInfo], jobs: Sequence[Job]) -> tuple[FleetWorker, ...]:
    """Return the workers with the number of runs that each has at hand."""
    at_hand = [job.worker for job in jobs if job.state is JobState.RUNNING]
    return tuple(
        FleetWorker(
            id=each.id,
            machine=each.machine,
            pid=each.pid,
            labels=each.labels,
            width=each.width,
            runs=at_hand.count(each.id) + each.units,
            seen=each.idle_for,
            alive=each.alive,
            draining=each.draining,
            version=each.version,
        )
        for each in workers
    )


def sum_queues(jobs: Sequence[Job], workers: Sequence[WorkerInfo]) -> tuple[FleetQueue, ...]:
    """Return how many runs wait with each priority and label, in the order they are taken."""
    takers = [each for each in workers if each.alive and not each.draining]
    labels = {label for each in takers for label in each.labels}
    waits: dict[tuple[int, str], list[Job]] = {}
    for job in jobs:
        if job.state is JobState.QUEUED:
            waits.setdefault((job.priority, job.label), []).append(job)
    return tuple(
        FleetQueue(
            priority=found[0].priority.word,
            label=label,
            waiting=len(found),
            oldest=max(job.waited for job in found),
            served=label in labels if label else bool(takers),
        )
        for (_, label), found in sorted(waits.items())
    )
