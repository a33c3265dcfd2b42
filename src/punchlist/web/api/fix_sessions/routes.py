"""The fix sessions: clarify, plan, start. A session is a run of the challenged workflow, and its id
is the run's.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from litestar import Request
from litestar.params import JSONBody
from litestar.response import Stream

from punchlist.app.access import Role
from punchlist.app.shown_plan import shown_plan
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.steps.plan import GO
from punchlist.views.plan_forms import code
from punchlist.web.api import plan as planning
from punchlist.web.api.fix_sessions.request import wish
from punchlist.web.api.fix_sessions.schemas import (
    MASTER_PATH,
    Clarified,
    Clarify,
    IssueQuestions,
    MakePlan,
    OpenQuestion,
    Plan,
    Session,
    StartFix,
)
from punchlist.web.api.plan import plan_part
from punchlist.web.api.read import LAST, SSE
from punchlist.web.api.routes import AtDesk, doing, looking, visitor_of, welcome
from punchlist.web.api.runs import KEY, RunId, of_repository
from punchlist.web.api.views import name_state
from punchlist.web.problem import Refused
from punchlist.web.sse.follow import HEADERS, Following, position
from punchlist.web.sse.frames import Position, sse
from punchlist.web.sse.stories import ERROR, STREAMING, error
from punchlist.web.state import Asked, Desk

_log = logging.getLogger("punchlist")


@doing(
    "/fix/clarify",
    operation_id="clarify",
    summary="Ask what is unclear about issues, and answer it",
)
async def clarify(
    desk: AtDesk, request: Request[Any, Any, Any], data: JSONBody[Clarify], key: KEY = None
) -> Clarified:
    """Answers when the agent has questions, is ready to plan, or cannot go on: that may take
    minutes.
    """
    if data.session_id:
        run = _idle(desk, data, data.session_id)
        if data.answers:
            run = await desk.answer(run, data.answers, visitor_of(request).shown)
        if not run.waits and not run.ended:
            await desk.resume_run(run.id)
    else:
        if data.answers:
            raise Refused(400, "answers need the session that asked", next_="give session_id")
        run = await _session(desk, data, "clarify", key, visitor_of(request).role)
    await desk.driving.settled(run.id)
    return _clarified(desk, desk.run(run.id))


@doing("/fix/plan", operation_id="make_plan", summary="Plan the fixing; nothing is fixed yet")
async def make_plan(
    desk: AtDesk, request: Request[Any, Any, Any], data: JSONBody[MakePlan], key: KEY = None
) -> Plan:
    if data.clarify_session_id:
        run = _idle(desk, data, data.clarify_session_id)
        if not run.waits and not run.ended:
            await desk.resume_run(run.id)
    else:
        run = await _session(desk, data, "plan", key, visitor_of(request).role)
    await desk.driving.settled(run.id)
    run = desk.run(run.id)
    _nothing_asked(run)
    return plan_part(desk, run)


@doing(
    "/fix/start",
    operation_id="start_fix",
    summary="Fix, challenge, commit; as Server-Sent Events",
    responses={200: SSE},
)
async def start_fix(
    desk: AtDesk,
    request: Request[Any, Any, Any],
    data: JSONBody[StartFix],
    key: KEY = None,
    last_event_id: LAST = None,
) -> Stream:
    """With a session its plan is taken as it is. Without one a session begins here, and its plan is
    not shown first.
    """
    if data.master_todo_path not in (None, MASTER_PATH):
        raise Refused(
            400,
            "a plan is named by its session, not by a path",
            next_=f'clarify_session_id, and "{MASTER_PATH}" or nothing',
        )
    after = position(last_event_id)
    if data.clarify_session_id:
        run = of_repository(desk, data.clarify_session_id, desk.repository(data.repository_id))
        await _let_go(desk, run, visitor_of(request).shown, joined=bool(last_event_id))
    else:
        run = await _session(desk, data, "start", key, visitor_of(request).role)
        if not desk.driving.drives(run.id):
            _nothing_asked(run)
        _go_on_by_itself(desk, run.id, visitor_of(request).shown)
    return _stream(desk, run.id, after, welcome(request))


@looking(
    "/fix/{session_id:str}/stream",
    operation_id="fix_stream",
    summary="Follow a fix session",
    responses={200: SSE},
)
async def fix_stream(
    desk: AtDesk, request: Request[Any, Any, Any], session_id: RunId, last_event_id: LAST = None
) -> Stream:
    return _stream(desk, desk.run(session_id).id, position(last_event_id), welcome(request))


async def _session(desk: Desk, data: Session, step: str, key: str | None, role: Role) -> Run:
    """A new session, or the one that this key stands for."""
    repository = desk.repository(data.repository_id)
    asked = Asked(
        whole=msgspec.json.encode((step, data)),
        wish=lambda: wish(desk, repository, data),
        flags=desk.agents(data.agents, role),
        key=key or "",
    )
    return desk.run(await desk.begin(repository, asked))


def _idle(desk: Desk, data: Session, session: str) -> Run:
    run = of_repository(desk, session, desk.repository(data.repository_id))
    if desk.driven(run.id):
        raise Refused(
            409,
            f"session {run.id} is under way",
            next_=f"GET /api/fix/{run.id}/stream follows it",
            run=run.id,
        )
    return run


def _nothing_asked(run: Run) -> None:
    if run.unanswered:
        raise Refused(
            409,
            f"session {run.id} has open questions",
            next_="answer them with POST /api/fix/clarify",
            run=run.id,
        )


async def _let_go(desk: Desk, run: Run, by: str, *, joined: bool) -> None:
    """The plan is taken as it is; who was here before only goes on reading."""
    if run.ended or (joined and desk.driven(run.id)):
        return
    if desk.driven(run.id):
        raise Refused(
            409,
            f"session {run.id} is under way",
            next_=f"GET /api/fix/{run.id}/stream follows it",
            run=run.id,
        )
    _nothing_asked(run)
    if run.waiting_for:
        _only_the_plan(desk, run)
        run = await desk.answer(run, GO, by)
    if not run.waits:
        await desk.resume_run(run.id)


def _only_the_plan(desk: Desk, run: Run) -> None:
    """Any other question is for a person who has read it."""
    if not shown_plan(desk.home, run).changeable:
        raise Refused(409, desk.why(run), next_=f"POST /api/runs/{run.id}/answers", run=run.id)


def _go_on_by_itself(desk: Desk, session: str, by: str) -> None:
    """A session that was started without a look at its plan does not stop there."""

    async def onward() -> None:
        await desk.driving.settled(session)
        run = desk.run(session)
        if shown_plan(desk.home, run).changeable and not run.unanswered and not desk.closing():
            await desk.answer(run, GO, by)
            await desk.resume_run(run.id)

    if session not in desk.onward:
        task = asyncio.create_task(onward())
        desk.onward[session] = task
        task.add_done_callback(lambda done: _past(desk, session, done))


def _past(desk: Desk, session: str, task: "asyncio.Task[None]") -> None:
    desk.onward.pop(session, None)
    if not task.cancelled() and (broke := task.exception()) is not None:
        _log.error("session %s does not go on", session, exc_info=broke)


def _stream(desk: Desk, session: str, after: Position, still: Callable[[], bool]) -> Stream:
    def over() -> bytes | None:
        run = desk.load(session)
        if run.ended:
            return b""
        return None if session in desk.onward or desk.driven(session) else _last_words(desk, run)

    reader = Following(
        run=session,
        tale=desk.stories,
        after=after,
        over=over,
        voice=desk.voice(STREAMING),
        welcome=still,
    )
    return Stream(desk.follow(reader), media_type="text/event-stream", headers=HEADERS)


def _last_words(desk: Desk, run: Run) -> bytes:
    """Why a session that nobody drives says no more; where the ledger says it, it was said."""
    if run.interrupted:
        return b""
    if run.unanswered:
        told = error(
            run, "waiting", run.unanswered[0].question, "POST /api/fix/clarify with answers"
        )
    elif run.waiting_for:
        told = error(run, "waiting", run.waiting_for.question, f"POST /api/runs/{run.id}/answers")
    else:
        told = error(
            run,
            "stopped",
            desk.driving.broke(run.id) or "no process drives it",
            f"POST /api/runs/{run.id}/resume",
        )
    return sse(desk.hide(wire.encode(told.data)), event=ERROR)


def _clarified(desk: Desk, run: Run) -> Clarified:
    by_issue: dict[str, list[OpenQuestion]] = {}
    for doubt in run.unanswered:
        by_issue.setdefault(code(doubt.item), []).append(
            OpenQuestion(doubt.id, doubt.question, doubt.context)
        )
    ready = run.waiting_for is not None and not run.unanswered
    return Clarified(
        session_id=run.id,
        has_questions=bool(by_issue),
        questions_by_issue=tuple(
            IssueQuestions(name, tuple(asked)) for name, asked in by_issue.items()
        ),
        ready_to_plan=ready,
        state=name_state(desk.state(run), interrupted=run.interrupted),
        message=desk.why(run),
    )


ROUTES = (clarify, make_plan, start_fix, fix_stream, *planning.ROUTES)
