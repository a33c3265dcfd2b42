"""Answer one notice of a forge: drive the run that its pull request needs, and show it there."""

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from msgspec import Struct

from punchlist.adapters.rest.retry import NotThere
from punchlist.app.fleet.enqueue import QueueOptions, enqueue_run
from punchlist.app.pulls.answer import MOVED, PullAnswer, PullPlan
from punchlist.app.pulls.history import load_history
from punchlist.app.pulls.stack import NothingToAnswer
from punchlist.app.repositories import RepositoryEntry
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.workspace import Workspace
from punchlist.errors import AlreadyRunning, PunchlistError, TooManyRuns, UsageError
from punchlist.model.ledger.events import Interrupted
from punchlist.model.ledger.run import Run
from punchlist.ports.fleet.queue import JobState, Priority
from punchlist.ports.serving.pull_notices import KeptNotice
from punchlist.ports.state import Lease

BY = "a newer push"
_POLL = 1.0
_UNDER_WAY = frozenset({JobState.QUEUED, JobState.RUNNING})
_LASTING = (UsageError, NotThere)
"""What another try would not change."""
_TURNS = (AlreadyRunning, TooManyRuns)
"""What only has to wait for its turn."""
_ASKS = 30.0
"""Seconds between two looks whether a run has got its answer."""
_SOON = 2.0


class NoticeResult(Struct, frozen=True, kw_only=True):
    """Without `why` the pull request is answered. `over`: it cannot be; else it is tried again,
    after so many seconds if they are given.
    """

    why: str = ""
    over: bool = False
    seconds: float = 0


class NoticeAnswer:
    """One notice while it is answered, under its lease; `began` is told the run."""

    def __init__(
        self,
        space: Workspace[Any],
        repository: RepositoryEntry,
        kept: KeptNotice,
        lease: Lease,
        began: Callable[[str], None],
    ) -> None:
        self._space = space
        self._repository = repository
        self._kept = kept
        self._lease = lease
        self._began = began

    async def answer(self) -> NoticeResult:
        """Answer the pull request, or say why it is not answered."""
        try:
            with closing(await self._space.opened(self._repository)) as session:
                answer = await PullAnswer.open(session, str(self._kept.notice.number))
                try:
                    result = await self._drive(session, answer)
                    tells = result.over
                except PunchlistError as error:
                    result = _judge_error(error)
                    tells = result.over or not (self._kept.tries or isinstance(error, _TURNS))
                if tells:
                    with suppress(PunchlistError):  # the forge may be what is away
                        await answer.fail(result.why)
                        if result.over and self._kept.notice.group:
                            await answer.fail(result.why, self._kept.notice.group)
                return result
        except NothingToAnswer:
            return NoticeResult()
        except PunchlistError as error:
            return _judge_error(error)

    async def _drive(self, session: Session, answer: PullAnswer) -> NoticeResult:
        """Drive the run that is needed, here or in the fleet, and show it if it has ended."""
        plan = await answer.plan(self._make_request(session, answer))
        run = plan.run.id if plan.run else plan.resume
        if run and plan.run is None and session.load(run).waits:
            return _ask(run)
        if plan.run is None:
            run = await self._begin_run(session, answer, plan)
        self._began(run)
        if plan.run is None:
            await self._wait_over(session, run)
        ended = session.load(run)
        if not ended.ended:
            return self._explain_end(session, ended)
        self._lease.confirm()
        shown = await answer.show(ended)
        if MOVED in shown.notes:
            return NoticeResult(why=MOVED, seconds=_SOON)
        if self._kept.notice.group:
            await answer.pass_verdict(self._kept.notice.group)
        return NoticeResult()

    def _make_request(self, session: Session, answer: PullAnswer) -> Request:
        if answer.pull.fork:
            return Request(workflow="review", allow_checks=False, ask_agents=False)
        if self._kept.asked is None:
            return Request()
        last = load_history(session, answer.pull.url).last
        done = last is not None and last.started_at >= time.time() - self._kept.asked
        return Request(force=not done)

    async def _begin_run(self, session: Session, answer: PullAnswer, plan: PullPlan) -> str:
        queue = session.state.queue
        if plan.request is None:
            job = queue.find(plan.resume) if queue is not None else None
            if queue is not None and job is not None:
                queue.requeue(plan.resume, Priority.PULL_REQUEST)
            elif not self._space.is_driven(plan.resume):
                await self._resume(session, plan.resume)
            return plan.resume
        await self._stop_older(session, answer)
        if queue is not None:
            ready = await prepare_run(session, plan.request)
            options = QueueOptions(priority=Priority.PULL_REQUEST)
            return (await enqueue_run(session, ready, options)).entry.run
        request = plan.request

        async def open_at_head() -> Session:
            opened = await self._space.opened(self._repository)
            opened.checkout = opened.required_checkout.move_head(answer.pull.head)
            return opened

        return await self._space.begin_run(open_at_head(), lambda: request)

    async def _resume(self, session: Session, run: str) -> None:
        try:
            await self._space.resume_run(run)
        except UsageError:
            if not session.load(run).ended:
                raise

    async def _stop_older(self, session: Session, answer: PullAnswer) -> None:
        """Stop the run of an older commit, which a server that was killed has left in the fleet."""
        last = load_history(session, answer.pull.url).last
        if last is not None and not last.ended and session.driver_of(last.id) is not None:
            with suppress(UsageError):  # it has stopped meanwhile
                await self._space.stop_run(last.id, BY, 0, here=0)

    async def _wait_over(self, session: Session, run: str) -> None:
        """Wait until no process drives the run, or it is over in the fleet."""
        await self._space.driving.wait_settled(run)
        queue = session.state.queue
        while not self._space.load(run).ended:
            job = queue.find(run) if queue is not None else None
            if job is not None and job.state not in _UNDER_WAY:
                return
            if job is None and not self._space.is_driven(run):
                return
            await asyncio.sleep(_POLL)

    def _explain_end(self, session: Session, run: Run) -> NoticeResult:
        """Say why a run that is no longer driven has no end, and whether it may go on."""
        if run.waits:
            return _ask(run.id)
        queue = session.state.queue
        job = queue.find(run.id) if queue is not None else None
        if job is not None and job.state is JobState.STUCK:
            return NoticeResult(why=f"run {run.id} is stuck: {job.note}", over=True)
        if job is not None and job.state is JobState.SUPERSEDED:
            return NoticeResult(why=f"run {run.id} was {job.note}", seconds=_SOON)
        if why := self._space.driving.failure_reason(run.id):
            return NoticeResult(why=f"run {run.id} broke off: {why}")
        events = (entry.event for entry in session.store.read(run.id))
        reasons = [event.reason for event in events if isinstance(event, Interrupted)]
        why = f"run {run.id} was {reasons[-1]}" if run.interrupted and reasons else ""
        if BY in why:
            return NoticeResult(why=why, seconds=_SOON)
        return NoticeResult(why=why or f"run {run.id} has not ended", over=bool(why))


def _ask(run: str) -> NoticeResult:
    return NoticeResult(why=f"run {run} waits for an answer: punchlist answer {run}", seconds=_ASKS)


def _judge_error(error: PunchlistError) -> NoticeResult:
    why = f"{error} ({error.hint})" if error.hint else str(error)
    return NoticeResult(why=why, over=isinstance(error, _LASTING))
