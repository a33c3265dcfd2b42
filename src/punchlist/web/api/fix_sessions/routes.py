"""Routes of fix sessions: clarify, plan, start. A session is a run of the challenged workflow."""

import asyncio
import logging

import msgspec
from litestar.params import JSONBody
from litestar.response import Stream

from punchlist.app.access import Role
from punchlist.app.shown_plan import load_plan
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.steps.plan import GO
from punchlist.views.plans.plan_forms import issue_code, issue_id
from punchlist.web.api.fix_sessions.request import make_request, require_same_session
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
from punchlist.web.api.plan import ROUTES as PLAN_ROUTES
from punchlist.web.api.plan import plan_part
from punchlist.web.api.read import LAST, SSE, make_stream
from punchlist.web.api.routes import (
    AnyRequest,
    App,
    access_checker,
    post_route,
    read_route,
    require_visitor,
)
from punchlist.web.api.runs import KEY, RunId, require_run
from punchlist.web.api.views import name_state
from punchlist.web.problem import Refused
from punchlist.web.sse.follow import Subscription, parse_position
from punchlist.web.sse.frames import Position, encode_sse
from punchlist.web.sse.stories import ERROR, STREAMING, make_error, name_output
from punchlist.web.state import RunRequest, WebSession

_log = logging.getLogger("punchlist")


@post_route("/fix/clarify", "Ask what is unclear about issues, and answer it")
async def clarify(
    app: App, request: AnyRequest, data: JSONBody[Clarify], key: KEY = None
) -> Clarified:
    """Answers when the agent has questions, is ready to plan, or cannot go on: that may take
    minutes.
    """
    if data.session_id:
        run = _require_idle(app, data, data.session_id)
        if data.answers:
            run = await app.answer_run(run, data.answers, require_visitor(request).shown)
        await _resume_unless_waiting(app, run)
    else:
        if data.answers:
            raise Refused(400, "answers need the session that asked", "give session_id")
        run = await _begin_session(app, data, "clarify", key, require_visitor(request).role)
    await app.driving.wait_settled(run.id)
    return _make_answer(app, app.find_run(run.id))


@post_route("/fix/plan", "Plan the fixing; nothing is fixed yet")
async def make_plan(
    app: App, request: AnyRequest, data: JSONBody[MakePlan], key: KEY = None
) -> Plan:
    if data.clarify_session_id:
        run = _require_idle(app, data, data.clarify_session_id)
        await _resume_unless_waiting(app, run)
    else:
        run = await _begin_session(app, data, "plan", key, require_visitor(request).role)
    await app.driving.wait_settled(run.id)
    run = app.find_run(run.id)
    _require_answers(run)
    return await plan_part(app, run)


@post_route("/fix/start", "Fix, challenge, commit; as Server-Sent Events", responses={200: SSE})
async def start_fix(
    app: App,
    request: AnyRequest,
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
            f'clarify_session_id, and "{MASTER_PATH}" or nothing',
        )
    after = parse_position(last_event_id)
    if data.clarify_session_id:
        run = require_run(app, data.clarify_session_id, app.find_repository(data.repository_id))
        require_same_session(run, data)
        await _start_fixing(app, run, require_visitor(request).shown, joined=bool(last_event_id))
    else:
        run = await _begin_session(app, data, "start", key, require_visitor(request).role)
        if not app.driving.is_driving(run.id):
            _require_answers(run)
        _accept_later(app, run.id, require_visitor(request).shown)
    return _make_stream(app, run.id, after, request)


@read_route("/fix/{session_id:str}/stream", "Follow a fix session", responses={200: SSE})
async def fix_stream(
    app: App, request: AnyRequest, session_id: RunId, last_event_id: LAST = None
) -> Stream:
    run = app.find_run(session_id)
    return _make_stream(app, run.id, parse_position(last_event_id), request)


async def _begin_session(
    app: WebSession, data: Session, step: str, key: str | None, role: Role
) -> Run:
    """Return a new session, or the one of this key."""
    repository = app.find_repository(data.repository_id)
    asked = RunRequest(
        body=msgspec.json.encode((step, data)),
        make=lambda: make_request(app, repository, data),
        flags=app.agent_settings(data.agents, role),
        key=key or "",
    )
    return app.find_run(await app.begin(repository, asked))


def _refuse_driven(app: WebSession, run: Run) -> None:
    if app.is_driven(run.id):
        follow = f"GET /api/fix/{run.id}/stream follows it"
        raise Refused(409, f"session {run.id} is under way", follow, run=run.id)


def _require_idle(app: WebSession, data: Session, session: str) -> Run:
    run = require_run(app, session, app.find_repository(data.repository_id))
    require_same_session(run, data)
    _refuse_driven(app, run)
    return run


async def _resume_unless_waiting(app: WebSession, run: Run) -> None:
    if not run.waits and not run.ended:
        await app.resume_run(run.id)


def _require_answers(run: Run) -> None:
    if run.unanswered:
        answer = "answer them with POST /api/fix/clarify"
        raise Refused(409, f"session {run.id} has open questions", answer, run=run.id)


async def _start_fixing(app: WebSession, run: Run, by: str, *, joined: bool) -> None:
    """Accept the plan and resume; a client that reconnects only reads on."""
    if run.ended or (joined and app.is_driven(run.id)):
        return
    _refuse_driven(app, run)
    _require_answers(run)
    if run.waiting_for:
        await _require_plan(app, run)
        run = await app.answer_run(run, GO, by)
    if not run.waits:
        await app.resume_run(run.id)


async def _require_plan(app: WebSession, run: Run) -> None:
    """Refuse any question but that about the plan: a user must read it."""
    if not (await asyncio.to_thread(load_plan, app.session, run)).changeable:
        raise Refused(409, app.explain_state(run), f"POST /api/runs/{run.id}/answers", run=run.id)


def _accept_later(app: WebSession, session: str, by: str) -> None:
    """Accept the plan without review as soon as the session waits for it."""

    async def accept_plan() -> None:
        await app.driving.wait_settled(session)
        run = app.find_run(session)
        plan = await asyncio.to_thread(load_plan, app.session, run)
        if plan.changeable and not run.unanswered and not app.closing():
            await app.answer_run(run, GO, by)
            await app.resume_run(run.id)

    if session not in app.onward:
        task = asyncio.create_task(accept_plan())
        app.onward[session] = task
        task.add_done_callback(lambda done: _finish_task(app, session, done))


def _finish_task(app: WebSession, session: str, task: "asyncio.Task[None]") -> None:
    app.onward.pop(session, None)
    if not task.cancelled() and (broke := task.exception()) is not None:
        _log.error("session %s does not go on", session, exc_info=broke)


def _make_stream(app: WebSession, session: str, after: Position, request: AnyRequest) -> Stream:
    def end_frame() -> bytes | None:
        run = app.load(session)
        if run.ended:
            return b""
        goes_on = session in app.onward or app.is_driven(session)
        return None if goes_on else _final_frame(app, run)

    reader = Subscription(
        run=session,
        source=app.stories,
        after=after,
        over=end_frame,
        encode=app.output_encoder(STREAMING, lambda label: name_output(app.load(session), label)),
        admitted=access_checker(request),
    )
    return make_stream(app, reader)


def _final_frame(app: WebSession, run: Run) -> bytes:
    """Return the event that says why the session stopped; b'' if the ledger says it."""
    if run.interrupted:
        return b""
    if run.unanswered:
        question, act = run.unanswered[0].question, "POST /api/fix/clarify with answers"
        error = make_error(run, "waiting", question, act)
    elif run.waiting_for:
        question, act = run.waiting_for.question, f"POST /api/runs/{run.id}/answers"
        error = make_error(run, "waiting", question, act)
    else:
        reason = app.driving.failure_reason(run.id) or "no process drives it"
        error = make_error(run, "stopped", reason, f"POST /api/runs/{run.id}/resume")
    return encode_sse(app.hide(wire.encode(error.data)), event=ERROR)


def _make_answer(app: WebSession, run: Run) -> Clarified:
    by_issue: dict[int, list[OpenQuestion]] = {}
    for doubt in run.unanswered:
        question = OpenQuestion(doubt.id, doubt.question, doubt.context)
        by_issue.setdefault(doubt.item, []).append(question)
    return Clarified(
        session_id=run.id,
        has_questions=bool(by_issue),
        questions_by_issue=tuple(
            IssueQuestions(issue_code(run, number), tuple(questions), issue_id(run, number))
            for number, questions in by_issue.items()
        ),
        issue_ids=run.started.issue_ids,
        ready_to_plan=run.waiting_for is not None and not run.unanswered,
        state=name_state(app.run_state(run), interrupted=run.interrupted),
        message=app.explain_state(run),
    )


ROUTES = (clarify, make_plan, start_fix, fix_stream, *PLAN_ROUTES)
