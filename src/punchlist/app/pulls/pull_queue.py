"""Answer the pull requests that forges give notice of, in the background of a server."""

import asyncio
import logging
from contextlib import closing
from typing import Any

from msgspec import Struct

from punchlist.app.fleet.enqueue import QueueOptions, enqueue_run
from punchlist.app.pulls.answer import PullAnswer, PullPlan
from punchlist.app.pulls.webhooks import PullNotice
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.workspace import Workspace
from punchlist.errors import PunchlistError
from punchlist.ports.fleet.queue import JobState, Priority

_log = logging.getLogger("punchlist")
_AT_ONCE = 4
_WAITING = 1000
_POLL = 1.0
_OVER = frozenset({JobState.ENDED, JobState.SUPERSEDED, JobState.STOPPED, JobState.STUCK})
_BY = "a newer push"


class _Wanted(Struct, frozen=True):
    repository: RepositoryEntry
    notice: PullNotice

    @property
    def name(self) -> str:
        return f"{self.repository.id} {self.notice.number}"


class PullQueue:
    """Pull requests that wait to be answered, each once: a newer notice takes the place of one that
    waits, and stops the run that answers an older commit.
    """

    def __init__(self, space: Workspace[Any]) -> None:
        self._space = space
        self._waiting: dict[str, _Wanted] = {}
        self._active: dict[str, str] = {}
        """By pull request under way: its run, '' until there is one."""
        self._filled = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, repository: RepositoryEntry, notice: PullNotice) -> bool:
        """Queue a pull request; return False if too many wait."""
        wanted = _Wanted(repository, notice)
        if len(self._waiting) >= _WAITING and wanted.name not in self._waiting:
            return False
        self._waiting[wanted.name] = wanted
        self._filled.set()
        return True

    def list_waiting(self) -> tuple[str, ...]:
        return tuple(self._waiting)

    async def work(self) -> None:
        """Answer what is put, a few at once, until it is cancelled."""
        try:
            while True:
                await self._filled.wait()
                self._filled.clear()
                for name in list(self._waiting):
                    if name in self._active:
                        await self._supersede(name)
                    elif len(self._active) < _AT_ONCE:
                        self._begin(self._waiting.pop(name))
        finally:
            for task in self._tasks:
                task.cancel()

    def _begin(self, wanted: _Wanted) -> None:
        self._active[wanted.name] = ""
        task = asyncio.create_task(self._answer(wanted))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._finish(wanted.name, done))

    def _finish(self, name: str, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            _log.error("a pull request is not answered", exc_info=error)
        self._active.pop(name, None)
        self._filled.set()

    async def _supersede(self, name: str) -> None:
        """Stop the run of an older commit; what asks only for a look at comments stops nothing."""
        run, wanted = self._active.get(name, ""), self._waiting[name]
        if not run or not wanted.notice.head:
            return
        try:
            found = self._space.load(run)
            if not found.ended and found.started.change.head != wanted.notice.head:
                await self._space.stop_run(run, _BY, 0, here=0)
        except PunchlistError as error:
            _log.warning("run %s is not stopped for %s: %s", run, _BY, error)

    async def _answer(self, wanted: _Wanted) -> None:
        about = f"{wanted.notice.repository} {wanted.notice.number}"
        try:
            with closing(await self._space.opened(wanted.repository)) as session:
                answer = await PullAnswer.open(session, str(wanted.notice.number))
                try:
                    await self._drive(session, answer, wanted)
                except PunchlistError as error:
                    await answer.fail(str(error))
                    raise
        except PunchlistError as error:
            _log.error("pull request %s is not answered: %s", about, error)

    async def _drive(self, session: Session, answer: PullAnswer, wanted: _Wanted) -> None:
        """Drive the run that is needed, here or in the fleet, and show it if it has ended."""
        request = Request()
        if answer.pull.fork:
            request = Request(workflow="review", allow_checks=False, ask_agents=False)
        plan = await answer.plan(request)
        run = plan.run.id if plan.run else await self._begin_run(session, answer, plan, wanted)
        self._active[wanted.name] = run
        self._filled.set()
        if plan.run is None:
            await self._wait_over(session, run)
        if session.load(run).ended:
            await answer.show(session.load(run))

    async def _begin_run(
        self, session: Session, answer: PullAnswer, plan: PullPlan, wanted: _Wanted
    ) -> str:
        if plan.request is None:
            await self._space.resume_run(plan.resume)
            return plan.resume
        if session.state.queue is not None:
            ready = await prepare_run(session, plan.request)
            options = QueueOptions(priority=Priority.PULL_REQUEST)
            return (await enqueue_run(session, ready, options)).entry.run
        request = plan.request

        async def open_at_head() -> Session:
            opened = await self._space.opened(wanted.repository)
            opened.checkout = opened.required_checkout.move_head(answer.pull.head)
            return opened

        return await self._space.begin_run(open_at_head(), lambda: request)

    async def _wait_over(self, session: Session, run: str) -> None:
        """Wait until the run is no longer driven here, or is over in the fleet."""
        await self._space.driving.wait_settled(run)
        queue = session.state.queue
        while queue is not None and not session.load(run).ended:
            job = queue.find(run)
            if job is None or job.state in _OVER:
                return
            await asyncio.sleep(_POLL)


async def find_noticed(space: Workspace[Any], notice: PullNotice) -> RepositoryEntry | None:
    """Return the registered repository that a notice is about, or None."""
    for each in space.session.state.repositories.list_all():
        try:
            with closing(await space.opened(each)) as session:
                if await _is_named(session, notice.repository):
                    return each
        except PunchlistError as error:
            _log.warning("%s cannot be looked at: %s", each.name, error)
    return None


async def _is_named(session: Session, name: str) -> bool:
    """Return whether the setting track.repository, else the remote origin, has this name."""
    known = session.settings().settings.track.repository
    if not known:
        # The client of forges loads slowly, so only what needs it imports it.
        from punchlist.adapters.rest.remote import name_remote, read_origin

        known = name_remote(await read_origin(session.required_checkout.user_git))
    return known.casefold() == name.casefold()
