"""Routes of fix sessions: clarify, plan, start. A session is a run of the challenged workflow, with
the same id.
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
from punchlist.app.shown_plan import load_plan
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.steps.plan import GO
from punchlist.views.plans.plan_forms import item_code
from punchlist.web.api import plan as planning
from punchlist.web.api.fix_sessions.request import make_request
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
from punchlist.web.api.routes import AtDesk, access_checker, post_route, read_route, require_visitor
from punchlist.web.api.runs import KEY, RunId, require_run
from punchlist.web.api.views import name_state
from punchlist.web.problem import Refused
from punchlist.web.sse.follow import HEADERS, Subscription, parse_position
from punchlist.web.sse.frames import Position, encode_sse
from punchlist.web.sse.stories import ERROR, STREAMING, make_error
from punchlist.web.state import RunRequest, WebSession

_log = logging.getLogger("punchlist")


@post_route(
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
        run = _require_idle(desk, data, data.session_id)
        if data.answers:
            run = await desk.answer_run(run, data.answers, require_visitor(request).shown)
        if not run.waits and not run.ended:
            await desk.resume_run(run.id)
    else:
        if data.answers:
            raise Refused(400, "answers need the session that asked", next_="give session_id")
        run = await _begin_session(desk, data, "clarify", key, require_visitor(request).role)
    await desk.driving.wait_settled(run.id)
    return _make_answer(desk, desk.find_run(run.id))


@post_route("/fix/plan", operation_id="make_plan", summary="Plan the fixing; nothing is fixed yet")
async def make_plan(
    desk: AtDesk, request: Request[Any, Any, Any], data: JSONBody[MakePlan], key: KEY = None
) -> Plan:
    if data.clarify_session_id:
        run = _require_idle(desk, data, data.clarify_session_id)
        if not run.waits and not run.ended:
            await desk.resume_run(run.id)
    else:
        run = await _begin_session(desk, data, "plan", key, require_visitor(request).role)
    await desk.driving.wait_settled(run.id)
    run = desk.find_run(run.id)
    _require_answers(run)
    return plan_part(desk, run)


@post_route(
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
    after = parse_position(last_event_id)
    if data.clarify_session_id:
        run = require_run(desk, data.clarify_session_id, desk.find_repository(data.repository_id))
        await _start_fixing(desk, run, require_visitor(request).shown, joined=bool(last_event_id))
    else:
        run = await _begin_session(desk, data, "start", key, require_visitor(request).role)
        if not desk.driving.is_driving(run.id):
            _require_answers(run)
        _accept_later(desk, run.id, require_visitor(request).shown)
    return _make_stream(desk, run.id, after, access_checker(request))


@read_route(
    "/fix/{session_id:str}/stream",
    operation_id="fix_stream",
    summary="Follow a fix session",
    responses={200: SSE},
)
async def fix_stream(
    desk: AtDesk, request: Request[Any, Any, Any], session_id: RunId, last_event_id: LAST = None
) -> Stream:
    return _make_stream(
        desk, desk.find_run(session_id).id, parse_position(last_event_id), access_checker(request)
    )


async def _begin_session(
    desk: WebSession, data: Session, step: str, key: str | None, role: Role
) -> Run:
    """Return a new session, or the one of this key."""
    repository = desk.find_repository(data.repository_id)
    asked = RunRequest(
        whole=msgspec.json.encode((step, data)),
        wish=lambda: make_request(desk, repository, data),
        flags=desk.agent_settings(data.agents, role),
        key=key or "",
    )
    return desk.find_run(await desk.begin(repository, asked))


def _require_idle(desk: WebSession, data: Session, session: str) -> Run:
    run = require_run(desk, session, desk.find_repository(data.repository_id))
    if desk.is_driven(run.id):
        raise Refused(
            409,
            f"session {run.id} is under way",
            next_=f"GET /api/fix/{run.id}/stream follows it",
            run=run.id,
        )
    return run


def _require_answers(run: Run) -> None:
    if run.unanswered:
        raise Refused(
            409,
            f"session {run.id} has open questions",
            next_="answer them with POST /api/fix/clarify",
            run=run.id,
        )


async def _start_fixing(desk: WebSession, run: Run, by: str, *, joined: bool) -> None:
    """Accept the plan and resume; a client that reconnects only reads on."""
    if run.ended or (joined and desk.is_driven(run.id)):
        return
    if desk.is_driven(run.id):
        raise Refused(
            409,
            f"session {run.id} is under way",
            next_=f"GET /api/fix/{run.id}/stream follows it",
            run=run.id,
        )
    _require_answers(run)
    if run.waiting_for:
        _require_plan(desk, run)
        run = await desk.answer_run(run, GO, by)
    if not run.waits:
        await desk.resume_run(run.id)


def _require_plan(desk: WebSession, run: Run) -> None:
    """Refuse any question but that about the plan: a user must read it."""
    if not load_plan(desk.home, run).changeable:
        raise Refused(
            409, desk.explain_state(run), next_=f"POST /api/runs/{run.id}/answers", run=run.id
        )


def _accept_later(desk: WebSession, session: str, by: str) -> None:
    """Accept the plan without review as soon as the session waits for it."""

    async def accept_plan() -> None:
        await desk.driving.wait_settled(session)
        run = desk.find_run(session)
        if load_plan(desk.home, run).changeable and not run.unanswered and not desk.closing():
            await desk.answer_run(run, GO, by)
            await desk.resume_run(run.id)

    if session not in desk.onward:
        task = asyncio.create_task(accept_plan())
        desk.onward[session] = task
        task.add_done_callback(lambda done: _finish_task(desk, session, done))


def _finish_task(desk: WebSession, session: str, task: "asyncio.Task[None]") -> None:
    desk.onward.pop(session, None)
    if not task.cancelled() and (broke := task.exception()) is not None:
        _log.error("session %s does not go on", session, exc_info=broke)


def _make_stream(
    desk: WebSession, session: str, after: Position, still: Callable[[], bool]
) -> Stream:
    def end_frame() -> bytes | None:
        run = desk.load(session)
        if run.ended:
            return b""
        return (
            None if session in desk.onward or desk.is_driven(session) else _final_frame(desk, run)
        )

    reader = Subscription(
        run=session,
        tale=desk.stories,
        after=after,
        over=end_frame,
        voice=desk.output_encoder(STREAMING),
        welcome=still,
    )
    return Stream(desk.open_stream(reader), media_type="text/event-stream", headers=HEADERS)


def _final_frame(desk: WebSession, run: Run) -> bytes:
    """Return the event that says why the session stopped; b'' if the ledger says it."""
    if run.interrupted:
        return b""
    if run.unanswered:
        told = make_error(
            run, "waiting", run.unanswered[0].question, "POST /api/fix/clarify with answers"
        )
    elif run.waiting_for:
        told = make_error(
            run, "waiting", run.waiting_for.question, f"POST /api/runs/{run.id}/answers"
        )
    else:
        told = make_error(
            run,
            "stopped",
            desk.driving.failure_reason(run.id) or "no process drives it",
            f"POST /api/runs/{run.id}/resume",
        )
    return encode_sse(desk.hide(wire.encode(told.data)), event=ERROR)


def _make_answer(desk: WebSession, run: Run) -> Clarified:
    by_issue: dict[str, list[OpenQuestion]] = {}
    for doubt in run.unanswered:
        by_issue.setdefault(item_code(doubt.item), []).append(
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
        state=name_state(desk.run_state(run), interrupted=run.interrupted),
        message=desk.explain_state(run),
    )


ROUTES = (clarify, make_plan, start_fix, fix_stream, *planning.ROUTES)
