"""A worker of a fleet: takes queued runs and drives each with the engine, as `resume` does."""

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist._version import __version__
from punchlist.adapters.fleet.mirrors import Mirrors
from punchlist.adapters.postgres.state import PostgresState
from punchlist.app.drive.background import STOPPED
from punchlist.app.drive.drive import resume_run
from punchlist.app.drive.run_cache import read_start
from punchlist.app.fleet.fitness import Fitness
from punchlist.app.fleet.health import WorkerHealth
from punchlist.app.fleet.helper import TakenUnits
from punchlist.app.fleet.reaper import reap_dead
from punchlist.app.fleet.timekeeper import Timekeeper
from punchlist.app.fleet.worker_session import Workplace
from punchlist.errors import (
    AlreadyRunning,
    DiskFull,
    PunchlistError,
    RunTaken,
    StoreAway,
    StoreError,
    UsageError,
)
from punchlist.model.ledger.events import (
    Begun,
    ConnectionRefused,
    Contained,
    Entry,
    Failed,
    Interrupted,
    Resumed,
)
from punchlist.model.ledger.run import Run
from punchlist.ports.artifacts import ArtifactStore
from punchlist.ports.fleet.queue import Job, JobState, Room, WorkerInfo
from punchlist.ports.fleet.schedule import Tick
from punchlist.settings import FleetSettings
from punchlist.steps import Action

_log = logging.getLogger("punchlist")
_POLL = 0.3
_UNSTARTED = 60
"""Seconds in which DBOS must have started a run that was put into this worker's queue."""
_KEEP = 600
"""Seconds for which a run stays with this worker while a store is away."""
_RETRY = 5
_LONG = 180
"""Seconds after which a run has done something: what is away then is away again."""


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """`drain`: seconds that runs may take to end when the worker is asked to stop; what has not
    ended is given back.
    """

    labels: tuple[str, ...] = ()
    width: int = 2
    drain: float = 20
    flags: Mapping[str, str] = {}
    fleet: FleetSettings = FleetSettings()


_NO_PROGRESS = (Begun, ConnectionRefused, Contained, Failed, Resumed)


class _StopWatcher:
    """Notes why the run was interrupted last, and that it gets on."""

    reason = ""

    def __init__(self, say: Callable[[str], None], note_progress: Callable[[], None]) -> None:
        self.say = say
        self.note_progress = note_progress

    def handle_start(self, place: str, action: Action) -> None: ...

    def handle_event(self, entry: Entry, run: Run) -> None:
        if isinstance(entry.event, Interrupted):
            self.reason = entry.event.reason
        elif not isinstance(entry.event, _NO_PROGRESS):
            self.note_progress()

    def handle_output(self, label: str, piece: str) -> None: ...

    def handle_delay(self, text: str) -> None:
        self.say(text)


class _Taken(Struct):
    job: Job
    at: float
    task: "asyncio.Task[str] | None" = None


class Worker:
    """Drives at most `width` runs at once. `home` is this worker's own."""

    def __init__(
        self,
        state: PostgresState,
        artifacts: ArtifactStore,
        home: Path,
        options: WorkerOptions,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.id = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(2)}"
        self._state = state
        self._queue = state.queue
        self._options = options
        self._say = say
        self._at = Workplace(
            worker=self.id,
            state=state,
            artifacts=artifacts,
            home=home,
            mirrors=Mirrors(home, options.fleet.mirrors),
            flags=options.flags,
        )
        self._helper = TakenUnits(self._at, options.labels, say)
        self._taken: dict[str, _Taken] = {}
        self._draining = asyncio.Event()
        self._idle = asyncio.Event()
        self._answered = time.monotonic()
        self._fitness = Fitness(home, say)

    def drain(self) -> None:
        """Take no more runs; `work` returns when those at hand have ended or were given back."""
        self._draining.set()

    @property
    def health(self) -> WorkerHealth:
        draining = self._draining.is_set()
        away = time.monotonic() - self._answered > self._options.fleet.lease
        return WorkerHealth(
            worker=self.id,
            ready=not draining and not away and not self._fitness.why,
            draining=draining,
            runs=tuple(self._taken),
            units=self._helper.count,
            width=self._options.width,
            why=self._fitness.why,
        )

    async def work(self) -> None:
        """Take and drive runs until `drain` is called."""
        loop = asyncio.get_running_loop()
        info = WorkerInfo(
            id=self.id,
            machine=socket.gethostname(),
            pid=os.getpid(),
            labels=self._options.labels,
            width=self._options.width,
            version=__version__,
        )

        def drive(run: str) -> str:
            return asyncio.run_coroutine_threadsafe(self._drive(run), loop).result()

        schedules = Timekeeper(self._at, self._say)

        def tick(due: Tick) -> str:
            return asyncio.run_coroutine_threadsafe(schedules.queue_run(due), loop).result()

        await asyncio.to_thread(self._state.workers.register, info)
        await asyncio.to_thread(self._queue.workflows.listen, self.id, drive, tick)
        reaping = [
            asyncio.create_task(each)
            for each in (
                reap_dead(self._state, self._options.fleet.lease, self._say),
                schedules.keep_up(),
            )
        ]
        try:
            while not self._draining.is_set():
                await self._take_runs()
                await _wait(self._draining, _POLL)
            await asyncio.to_thread(self._state.workers.set_draining, self.id)
            await self._finish_runs()
        finally:
            for each in reaping:
                each.cancel()
            await asyncio.to_thread(self._leave)

    def _leave(self) -> None:
        self._queue.workflows.stop_listening()
        self._queue.workflows.forget_worker(self.id)
        self._state.workers.remove(self.id)

    async def _take_runs(self) -> None:
        fleet, options = self._options.fleet, self._options
        self._fitness.look_for_room()
        room = Room(repository=fleet.per_repository, agent=fleet.per_agent)
        try:
            while self._has_place:
                job = await asyncio.to_thread(
                    self._queue.take, self.id, options.labels, room, tuple(self._taken)
                )
                if job is None:
                    break
                self._taken[job.run] = _Taken(job, time.monotonic())
                await self._start(job)
            while self._has_place and await self._helper.take_unit(room, self._note_idle):
                pass
            await self._drop_unstarted()
            self._answered = time.monotonic()
        except StoreError as error:
            _log.warning("the queue cannot be reached: %s", error)

    @property
    def _has_place(self) -> bool:
        busy = len(self._taken) + self._helper.count
        width = 1 if self._fitness.on_trial else self._options.width
        return busy < width and not self._fitness.why and not self._draining.is_set()

    async def _start(self, job: Job) -> None:
        try:
            await asyncio.to_thread(self._queue.workflows.start, job.run, self.id)
        except StoreError as error:
            died = not isinstance(error, StoreAway)
            await self._give_back(job, f"DBOS did not start it: {error}", died=died)

    async def _drop_unstarted(self) -> None:
        for each in list(self._taken.values()):
            if each.task is None and time.monotonic() - each.at > _UNSTARTED:
                await self._give_back(each.job, "DBOS did not start it", died=True)

    async def _finish_runs(self) -> None:
        """Wait for the runs at hand, for as long as may be; then stop them and give them back."""
        await self._wait_idle(self._options.drain)
        self._helper.give_back()
        while self._taken or self._helper.count:
            for each in list(self._taken.values()):
                if each.task is None:
                    await self._give_back(each.job)
                elif not each.task.cancelling():
                    each.task.cancel(STOPPED)
            await self._wait_idle(0.1)

    async def _wait_idle(self, seconds: float) -> None:
        self._idle.clear()
        if self._taken or self._helper.count:
            await _wait(self._idle, seconds)

    def _drop(self, run: str) -> None:
        self._taken.pop(run, None)
        self._note_idle()

    def _note_idle(self) -> None:
        if not self._taken and not self._helper.count:
            self._idle.set()

    async def _drive(self, run: str) -> str:
        """Drive a run that this worker took; return what became of it."""
        taken = self._taken.get(run)
        if taken is None:
            return "not taken"
        taken.task = asyncio.create_task(self._drive_taken(taken.job))
        return await taken.task

    async def _drive_taken(self, job: Job) -> str:
        watcher = _StopWatcher(self._say, self._fitness.note_progress)
        self._say(f"run {job.run} begins")
        try:
            run = await self._resume_patiently(job, watcher)
        except (AlreadyRunning, StoreAway) as error:
            return await self._give_back(job, str(error), delay=self._options.fleet.lease / 3)
        except RunTaken:
            self._drop(job.run)
            self._say(f"run {job.run} was taken over")
            return "taken over"
        except asyncio.CancelledError:
            return await self._give_back(job)
        except Exception as error:  # noqa: BLE001 - of whatever kind: it is tried elsewhere
            if not isinstance(error, PunchlistError):
                _log.exception("run %s broke off", job.run)
            counts = self._fitness.note_broken(job.run, str(error))
            died = counts and not isinstance(error, DiskFull)
            delay = 0 if died or self._fitness.why else _RETRY
            return await self._give_back(job, str(error), died=died, delay=delay)
        return await self._settle(job, run, watcher.reason)

    async def _resume_patiently(self, job: Job, watcher: _StopWatcher) -> Run:
        """Drive the run, again when a store that was away for longer than the run waits is back:
        what agents answered meanwhile is on this machine, and would be paid for again on another.
        """
        until = 0.0
        while True:
            began = time.monotonic()
            try:
                return await self._resume(job, watcher)
            except StoreAway as error:
                now = time.monotonic()
                until = now + _KEEP if not until or now > began + _LONG else until
                self._say(f"run {job.run} waits: {error}")
                await _wait(self._draining, _RETRY)
                if now > until or self._draining.is_set():
                    raise

    async def _resume(self, job: Job, watcher: _StopWatcher) -> Run:
        started = read_start(self._state.store, job.run)
        if started is None:
            raise UsageError(f"run {job.run} has no first event", hint="punchlist audit")
        async with self._at.open_session(job.source, started) as session:
            return await resume_run(session, job.run, watcher)

    async def _settle(self, job: Job, run: Run, reason: str) -> str:
        if not run.ended and not run.waits and reason == STOPPED:
            return await self._give_back(job)
        state = JobState.STOPPED
        if run.ended or run.waits:
            state = JobState.ENDED if run.ended else JobState.WAITING
        note = "" if run.ended else reason
        await _insist(lambda: self._queue.finish(job.run, self.id, state, note))
        self._drop(job.run)
        self._say(f"run {job.run} {state.value}{f': {run.ended}' if run.ended else ''}")
        return state.value

    async def _give_back(
        self, job: Job, note: str = "", *, died: bool = False, delay: float = 0
    ) -> str:
        give_back = self._queue.give_back
        await _insist(lambda: give_back(job.run, self.id, note, died=died, delay=delay))
        self._drop(job.run)
        self._say(f"run {job.run} was given back{f': {note}' if note else ''}")
        return "given back"


async def _insist(work: Callable[[], object]) -> None:
    """Do it in a thread, again until the database is there: else the run would stay with a worker
    that does not drive it.
    """
    while True:
        try:
            await asyncio.to_thread(work)
        except StoreAway as error:
            _log.warning("the queue cannot be told: %s", error)
            await asyncio.sleep(_RETRY)
        else:
            return


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass
