"""Runs driven in the background of a process that does other things too: begun, followed, stopped,
and never lost.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct

from punchlist.app.drive.drive import resume_run
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.app.start.start import start_run
from punchlist.engine import Watcher
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Entry
from punchlist.model.ledger.run import Run
from punchlist.steps import Action

_log = logging.getLogger("punchlist")
STOPPED = "the process that drove it was stopped"
"""Why a run was interrupted that nobody wanted stopped."""
_KEPT = 256
"""Pieces of agents' talk kept of a run, for whoever looks on; all of it is in the transcripts."""
_LONGEST = 16_000
"""Characters kept of a piece: its end."""


class Bell:
    """Wakes everybody who follows a run. Who listens first and looks then misses nothing. It may be
    rung from any thread.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}

    def listen(self, run: str) -> asyncio.Event:
        _, event = self._waiting.setdefault(run, (asyncio.get_running_loop(), asyncio.Event()))
        return event

    def ring(self, run: str) -> None:
        loop, event = self._waiting.pop(run, (None, None))
        if loop is not None and event is not None:
            with suppress(RuntimeError):  # that loop is closed: nobody listens there any more
                loop.call_soon_threadsafe(event.set)

    def ring_all(self) -> None:
        for run in list(self._waiting):
            self.ring(run)


async def rung(event: asyncio.Event, seconds: float) -> bool:
    """Whether it rang within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class Said(Struct, frozen=True):
    """What an agent said while it worked."""

    number: int
    label: str
    text: str


class Begun(Struct, frozen=True):
    """An action that is under way. `at` is when it began."""

    place: str
    key: str
    about: str
    at: float


class Talk:
    """The last that agents said in each run under way: for looking on, not for the record."""

    def __init__(self) -> None:
        self._said: dict[str, deque[Said]] = {}
        self._number = 0

    def add(self, run: str, label: str, piece: str) -> None:
        self._number += 1
        text = piece if len(piece) <= _LONGEST else f"…{piece[-_LONGEST:]}"
        self._said.setdefault(run, deque(maxlen=_KEPT)).append(Said(self._number, label, text))

    def after(self, run: str, number: int) -> tuple[Said, ...]:
        said = tuple(self._said.get(run, ()))  # a copy: it may be asked for from another thread
        return (
            tuple(each for each in said if each.number > number)
            if said and said[-1].number > number
            else ()
        )

    def forget(self, run: str) -> None:
        self._said.pop(run, None)


class _Post:
    """A Watcher that rings the bell; the first entry says which run it is."""

    def __init__(self, driving: "Driving") -> None:
        self._driving = driving
        self.began_as: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.under_way: dict[tuple[str, str], Begun] = {}

    def began(self, place: str, action: Action) -> None:
        """Actions begin after the first entry is told."""
        run = self.began_as.result()
        self.under_way[place, action.key] = Begun(
            place, action.key, action.about or action.key, time.time()
        )
        self._driving.bell.ring(run)

    def told(self, entry: Entry, run: Run) -> None:
        if not self.began_as.done():
            self._driving.take(entry.run, self)
            self.began_as.set_result(entry.run)
        self.under_way.pop((entry.place, entry.key), None)
        self._driving.bell.ring(entry.run)

    def heard(self, label: str, piece: str) -> None:
        if self.began_as.done():
            run = self.began_as.result()
            self._driving.talk.add(run, label, piece)
            self._driving.bell.ring(run)


class Driving:
    """Who is driven by this process. Each run has a session of its own, which is closed when the
    driving is over.
    """

    def __init__(self) -> None:
        self.bell = Bell()
        self.talk = Talk()
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._running: set[asyncio.Task[object]] = set()
        self._broke: dict[str, str] = {}
        self._posts: dict[str, _Post] = {}

    async def begin(self, session: Session, ready: Prepared) -> str:
        """Starts a run and returns its id once it is in the ledger; what keeps it from beginning is
        raised.
        """
        return await self.drive(session, lambda watcher: start_run(session, ready, watcher))

    async def resume(self, session: Session, run: str) -> str:
        """Goes on with a run; returns once the ledger says so."""
        return await self.drive(session, lambda watcher: resume_run(session, run, watcher))

    def drives(self, run: str) -> bool:
        task = self._tasks.get(run)
        return task is not None and not task.done()

    def driven(self) -> tuple[str, ...]:
        """The runs that are driven here at this moment."""
        return tuple(run for run in tuple(self._tasks) if self.drives(run))

    def under_way(self, run: str) -> tuple[Begun, ...]:
        """What has begun in a run that is driven here, and has not come to its end."""
        post = self._posts.get(run)
        return tuple(post.under_way.copy().values()) if post else ()

    def broke(self, run: str) -> str:
        """Why the driving came to an end without an event of its own, if it did."""
        return self._broke.get(run, "")

    async def cancel(self, run: str, by: str = "", seconds: float | None = None) -> bool:
        """Stops a run at an event boundary, and waits for that, or only for so long; whether it was
        driven here.
        """
        task = self._tasks.get(run)
        if task is None or task.done():
            return False
        _stop(task, f"stopped by {by}" if by else "")
        await asyncio.wait({task}, timeout=seconds)
        return True

    async def settled(self, run: str) -> None:
        """Waits until this process drives the run no more: it has ended, waits for a person, or was
        stopped.
        """
        task = self._tasks.get(run)
        if task is not None:
            await asyncio.wait({task})

    def stop(self) -> None:
        """Asks all of them to stop, and waits for none."""
        for task in self._running:
            _stop(task, STOPPED)
        self.bell.ring_all()

    async def close(self, seconds: float | None = None) -> None:
        """Stops all of them. Each writes down that it was stopped, and can be resumed; for one that
        takes longer nobody waits.
        """
        self.stop()
        if self._running:
            await asyncio.wait(set(self._running), timeout=seconds)
        for run in self._tasks:
            _log.warning("run %s did not stop in time; it can be resumed", run)

    def take(self, run: str, post: _Post) -> None:
        """The task at work now is this run's."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks[run] = task
            self._posts[run] = post
            self._broke.pop(run, None)

    async def drive(self, session: Session, drive: Callable[[Watcher], Awaitable[Run]]) -> str:
        """Call `drive` in a task of its own; return the run's id once it is in the ledger."""
        post = _Post(self)
        task: asyncio.Task[object] = asyncio.ensure_future(_with(session, drive(post)))
        self._running.add(task)
        task.add_done_callback(lambda done: self._over(done, post))
        either: set[asyncio.Future[Any]] = {task, post.began_as}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not post.began_as.done():
            task.result()
            raise UsageError("the run has ended meanwhile", hint="look at it again")
        return post.began_as.result()

    def _over(self, task: "asyncio.Task[object]", post: _Post) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if not post.began_as.done():
            return
        run = post.began_as.result()
        if error is not None:
            self._broke[run] = str(error)
            _log.error("run %s broke off", run, exc_info=error)
        if self._tasks.get(run) is task:
            del self._tasks[run], self._posts[run]
        self.talk.forget(run)
        self.bell.ring(run)


def _stop(task: "asyncio.Task[object]", why: str) -> None:
    """Once: asked again, it would leave what it sees through."""
    if not task.cancelling():
        task.cancel(why or None)


async def _with(session: Session, work: Awaitable[Run]) -> Run:
    try:
        return await work
    finally:
        session.close()
