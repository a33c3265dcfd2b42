"""Drive runs in the background of a process: start, follow and stop them."""

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
"""The reason of a run's interruption if no user asked for it."""
_KEPT = 256
"""Pieces of agents' output kept of a run for viewers; all of it is in the transcripts."""
_LONGEST = 16_000
"""Characters kept of a piece: its end."""


class Bell:
    """Wakes all followers of a run; may be rung from any thread. Call `listen` before reading the
    ledger, so that nothing is missed.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[asyncio.AbstractEventLoop, asyncio.Event]] = {}

    def listen(self, run: str) -> asyncio.Event:
        _, event = self._waiting.setdefault(run, (asyncio.get_running_loop(), asyncio.Event()))
        return event

    def ring(self, run: str) -> None:
        loop, event = self._waiting.pop(run, (None, None))
        if loop is not None and event is not None:
            with suppress(RuntimeError):  # that loop is closed, with all its listeners
                loop.call_soon_threadsafe(event.set)

    def ring_all(self) -> None:
        for run in list(self._waiting):
            self.ring(run)


async def wait_ring(event: asyncio.Event, seconds: float) -> bool:
    """Return whether the event came within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


class AgentOutput(Struct, frozen=True):
    number: int
    label: str
    text: str


class ActiveAction(Struct, frozen=True):
    place: str
    key: str
    about: str
    at: float
    """When it began."""


class Talk:
    """The last output of agents in each driven run, for viewers; not recorded."""

    def __init__(self) -> None:
        self._said: dict[str, deque[AgentOutput]] = {}
        self._number = 0

    def add(self, run: str, label: str, piece: str) -> None:
        self._number += 1
        text = piece if len(piece) <= _LONGEST else f"…{piece[-_LONGEST:]}"
        kept = self._said.setdefault(run, deque(maxlen=_KEPT))
        kept.append(AgentOutput(self._number, label, text))

    def list_after(self, run: str, number: int) -> tuple[AgentOutput, ...]:
        said = tuple(self._said.get(run, ()))  # a copy: another thread may call this
        return tuple(each for each in said if each.number > number)

    def forget(self, run: str) -> None:
        self._said.pop(run, None)


class _RunWatcher:
    """Watcher that rings the bell; the first entry tells the run's id."""

    def __init__(self, driving: "RunDriver") -> None:
        self._driving = driving
        self.began_as: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.under_way: dict[tuple[str, str], ActiveAction] = {}

    def handle_start(self, place: str, action: Action) -> None:
        key, about = action.key, action.about or action.key
        self.under_way[place, key] = ActiveAction(place, key, about, time.time())
        self._driving.bell.ring(self.began_as.result())

    def handle_event(self, entry: Entry, run: Run) -> None:
        if not self.began_as.done():
            self._driving.take_run(entry.run, self)
            self.began_as.set_result(entry.run)
        self.under_way.pop((entry.place, entry.key), None)
        self._driving.bell.ring(entry.run)

    def handle_output(self, label: str, piece: str) -> None:
        if self.began_as.done():
            run = self.began_as.result()
            self._driving.talk.add(run, label, piece)
            self._driving.bell.ring(run)

    def handle_delay(self, text: str) -> None:
        self.handle_output("waiting", text)


class RunDriver:
    """The runs driven by this process. Each has its own session, closed at its end."""

    def __init__(self) -> None:
        self.bell = Bell()
        self.talk = Talk()
        self._tasks: dict[str, asyncio.Task[object]] = {}
        self._running: set[asyncio.Task[object]] = set()
        self._broke: dict[str, str] = {}
        self._posts: dict[str, _RunWatcher] = {}

    async def begin_run(self, session: Session, ready: Prepared) -> str:
        """Start a run; return its id once it is in the ledger. Raise what prevents it."""
        return await self.drive(session, lambda watcher: start_run(session, ready, watcher))

    async def resume_run(self, session: Session, run: str) -> str:
        return await self.drive(session, lambda watcher: resume_run(session, run, watcher))

    def is_driving(self, run: str) -> bool:
        task = self._tasks.get(run)
        return task is not None and not task.done()

    def list_driven(self) -> tuple[str, ...]:
        return tuple(run for run in tuple(self._tasks) if self.is_driving(run))

    def active_actions(self, run: str) -> tuple[ActiveAction, ...]:
        post = self._posts.get(run)
        return tuple(post.under_way.copy().values()) if post else ()

    def failure_reason(self, run: str) -> str:
        """Return why the run broke off without an event, or ''."""
        return self._broke.get(run, "")

    async def cancel_run(self, run: str, by: str = "", seconds: float | None = None) -> bool:
        """Stop a run between two events; wait at most `seconds`. Return whether it is ours."""
        task = self._tasks.get(run)
        if task is None or task.done():
            return False
        _cancel_task(task, f"stopped by {by}" if by else "")
        await asyncio.wait({task}, timeout=seconds)
        return True

    async def wait_settled(self, run: str) -> None:
        """Wait until this process no longer drives the run."""
        if task := self._tasks.get(run):
            await asyncio.wait({task})

    def stop_all(self) -> None:
        """Ask all runs to stop, without waiting."""
        for task in self._running:
            _cancel_task(task, STOPPED)
        self.bell.ring_all()

    async def close(self, seconds: float | None = None) -> None:
        """Stop all runs and wait at most `seconds`; each can be resumed."""
        self.stop_all()
        if self._running:
            await asyncio.wait(set(self._running), timeout=seconds)
        for run in self._tasks:
            _log.warning("run %s did not stop in time; it can be resumed", run)

    def take_run(self, run: str, post: _RunWatcher) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks[run] = task
            self._posts[run] = post
            self._broke.pop(run, None)

    async def drive(self, session: Session, drive: Callable[[Watcher], Awaitable[Run]]) -> str:
        """Call `drive` in a task of its own; return the run's id once it is in the ledger."""
        post = _RunWatcher(self)
        task: asyncio.Task[object] = asyncio.ensure_future(_run_and_close(session, drive(post)))
        self._running.add(task)
        task.add_done_callback(lambda done: self._finish_task(done, post))
        either: set[asyncio.Future[Any]] = {task, post.began_as}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not post.began_as.done():
            task.result()
            raise UsageError("the run has ended meanwhile", hint="look at it again")
        return post.began_as.result()

    def _finish_task(self, task: asyncio.Task[object], post: _RunWatcher) -> None:
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


def _cancel_task(task: asyncio.Task[object], why: str) -> None:
    """Cancel once: a second time would break its shutdown."""
    if not task.cancelling():
        task.cancel(why or None)


async def _run_and_close(session: Session, work: Awaitable[Run]) -> Run:
    try:
        return await work
    finally:
        session.close()
