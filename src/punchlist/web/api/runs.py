"""Routes that start and steer runs."""

from typing import Annotated

import msgspec
from litestar.params import HeaderParameter, JSONBody, PathParameter, QueryParameter
from msgspec.structs import asdict

from punchlist.app.access import Role
from punchlist.app.after.apply import apply_branch, discard_branch
from punchlist.app.after.dismissals import ItemSelection
from punchlist.app.repositories import RepositoryEntry, find_owner
from punchlist.app.start.request import Request
from punchlist.errors import UsageError
from punchlist.model.item.item import Item
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.settings import load_settings
from punchlist.web.api.routes import AnyRequest, App, post_route, read_route, require_visitor
from punchlist.web.api.views import run_line, run_part
from punchlist.web.problem import Refused
from punchlist.web.schemas import (
    IDENTIFIER,
    Answering,
    Applying,
    Dismissals,
    Dismissing,
    Done,
    RunPage,
    RunPart,
    Starting,
)
from punchlist.web.state import RunRequest, WebSession
from punchlist.workflow.adjust import adjust_workflow
from punchlist.workflow.language import Workflow
from punchlist.workflow.loader import builtin_names, load_workflow

KEY = Annotated[
    str | None,
    HeaderParameter(
        name="X-Idempotency-Key",
        max_length=200,
        description="The same key and request start one run only.",
    ),
]
RunId = Annotated[str, PathParameter(pattern=IDENTIFIER, description="The run's whole id.")]


@read_route("/runs", "The runs of registered repositories, newest first")
async def runs(
    app: App,
    repository_id: Annotated[str | None, QueryParameter(pattern=IDENTIFIER)] = None,
    offset: Annotated[int, QueryParameter(ge=0, le=10**9)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 50,
) -> RunPage:
    rows = app.list_rows(app.find_repository(repository_id) if repository_id else None)
    shown, known = rows[offset : offset + limit], app.repositories.list_all()
    owners = (find_owner(known, row.repository, row.identity) for row in shown)
    lines = (
        run_line(app.line(row), owner.id) for row, owner in zip(shown, owners, strict=True) if owner
    )
    return RunPage(total=len(rows), runs=tuple(lines))


@post_route("/runs", "Start a run; it goes on in the background", status_code=201)
async def start_run(
    app: App, request: AnyRequest, data: JSONBody[Starting], key: KEY = None
) -> RunPart:
    run_id = await begin_run(app, data, require_visitor(request).role, key or "")
    return build_part(app, app.find_run(run_id))


@read_route("/runs/{run_id:str}", "How a run stands")
async def run(app: App, run_id: RunId) -> RunPart:
    return build_part(app, app.find_run(run_id))


@post_route("/runs/{run_id:str}/answers", "Answer what a run waits for, and let it go on")
async def answer(
    app: App, request: AnyRequest, run_id: RunId, data: JSONBody[Answering]
) -> RunPart:
    run = app.find_run(run_id)
    if bool(data.choice) == bool(data.answers):
        raise Refused(
            400,
            "an answer is either a choice or texts by their ids",
            '{"choice": "a"}, or {"answers": {"F001-q1": "..."}}',
        )
    run = await app.answer_run(
        run, data.choice or data.answers, require_visitor(request).shown, data.asked
    )
    if data.resume and not run.waits:
        await app.resume_run(run.id)
    return build_part(app, app.find_run(run.id))


@post_route("/runs/{run_id:str}/cancel", "Stop a run; it can be resumed")
async def cancel(app: App, request: AnyRequest, run_id: RunId) -> RunPart:
    """Stops also a run that another process drives. If it is still `running` afterwards, it will
    stop soon.
    """
    run = app.find_run(run_id)
    if not app.is_driven(run.id):
        raise Refused(
            409,
            "no process drives this run",
            f"GET /api/runs/{run.id} says how it stands",
            run=run.id,
        )
    return build_part(app, await app.stop(run, require_visitor(request).shown))


@post_route("/runs/{run_id:str}/resume", "Go on with a run that was stopped")
async def resume(app: App, run_id: RunId) -> RunPart:
    run = app.find_run(run_id)
    if run.ended:
        raise Refused(409, "this run has ended", "POST /api/runs starts another")
    await app.resume_run(run.id)
    return build_part(app, app.find_run(run.id))


@post_route(
    "/runs/{run_id:str}/apply", "Bring a run's fixes onto the checked-out branch", Role.ADMIN
)
async def apply(app: App, run_id: RunId, data: JSONBody[Applying]) -> Done:
    run = app.find_run(run_id)
    async with app.session_of(run.id) as session:
        return Done(await apply_branch(session, run.id, squash=data.squash))


@post_route("/runs/{run_id:str}/discard", "Drop a run's branch and work trees", Role.ADMIN)
async def discard(app: App, run_id: RunId) -> Done:
    """Its ledger and its reports stay."""
    run = app.find_run(run_id)
    async with app.session_of(run.id) as session:
        return Done(await discard_branch(session, run.id))


@post_route("/runs/{run_id:str}/dismissals", "Say that items need no work, or take it back")
async def dismiss(
    app: App, request: AnyRequest, run_id: RunId, data: JSONBody[Dismissing]
) -> Dismissals:
    """Recorded under the token's name; later runs remember it. Not while the run is under way."""
    run = app.find_run(run_id)
    if not (data.numbers or data.rules or data.paths):
        choose = f"numbers, rules or paths; GET /api/runs/{run.id}/items lists them"
        raise Refused(400, "which items?", choose)
    if not data.undo and not data.why.strip():
        raise Refused(400, "a dismissal needs a reason", '{"numbers": [7], "why": "..."}')
    chosen = ItemSelection(numbers=data.numbers, rules=data.rules, paths=data.paths)
    by = require_visitor(request).shown
    numbers = await app.dismiss(run.id, chosen, Dismissal(by, data.why, ""), undo=data.undo)
    return Dismissals(run=run.id, items=tuple(numbers), by=by, why=data.why, undone=data.undo)


def build_part(app: WebSession, run: Run) -> RunPart:
    return run_part(run, app.repository_of(run).id, app.run_state(run))


async def begin_run(app: WebSession, data: Starting, role: Role, key: str) -> str:
    """Start the run that a client of this role asked for, once per key; return its id."""
    asked = RunRequest(
        body=msgspec.json.encode(("runs", data)),
        make=lambda: _make_request(app, data, role),
        flags=app.agent_settings(data.agents, role) | _plain_settings(data),
        key=key,
    )
    return await app.begin(app.find_repository(data.repository_id), asked)


def _make_request(app: WebSession, data: Starting, role: Role) -> Request:
    if data.allow_checks and not role.includes(Role.ADMIN):
        other = "`punchlist allow` in the repository, once, does it too"
        raise Refused(403, "to let checks run takes the role admin", other)
    if data.documents and not role.includes(Role.ADMIN):
        raise Refused(
            403,
            "to write findings documents into the checkout takes the role admin",
            "leave `documents` out: the documents are among the run's artifacts",
        )
    if data.workflow and data.workflow not in builtin_names():
        raise Refused(
            400, f'no workflow is called "{data.workflow}"', f"one of: {', '.join(builtin_names())}"
        )
    if any(".." in path.split("/") for path in (*data.paths, *data.specification)):
        raise Refused(
            400, "a path must stay inside of the repository", "name files and folders from the root"
        )
    if data.rounds is not None or data.threshold is not None:
        usual = load_settings(None, app.options.flags).settings.workflow
        adjust(load_workflow(data.workflow or usual), data.rounds, data.threshold)
    findings = app.store_findings(data.findings)
    fields = {**asdict(data), "findings": findings, "allow_checks": data.allow_checks or None}
    return msgspec.convert(fields, Request)


def adjust(workflow: Workflow, rounds: int | None, threshold: int | None) -> Workflow:
    """Return the workflow with these values; refuse with 422 what is out of range or not there."""
    try:
        return adjust_workflow(workflow, rounds=rounds, threshold=threshold)
    except UsageError as error:
        raise Refused(422, str(error), error.hint) from error


def _plain_settings(data: Starting) -> dict[str, str]:
    limits = {"limits.time": data.max_seconds, "limits.dollars": data.max_dollars}
    folder = {"documents": data.documents} if data.documents else {}
    return {name: f"{value:g}" for name, value in limits.items() if value} | folder


def require_item(run: Run, number: int) -> Item:
    if number not in run.items:
        raise Refused(
            404, f"run {run.id} has no item {number}", f"GET /api/runs/{run.id}/items lists them"
        )
    return run.items[number]


def require_run(app: WebSession, run_id: str, repository: RepositoryEntry) -> Run:
    """Return a run of this repository; refuse any other with 404."""
    run = app.find_run(run_id)
    if app.repository_of(run).id != repository.id:
        raise Refused(404, "this repository has no such run", "GET /api/runs lists them")
    return run


ROUTES = (runs, start_run, run, answer, cancel, resume, apply, discard, dismiss)
