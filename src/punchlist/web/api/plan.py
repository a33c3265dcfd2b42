"""Routes to a session's plan: read it, and change it before the fixing starts."""

import asyncio
from typing import Annotated

from litestar.params import JSONBody, PathParameter

from punchlist.app.shown_plan import ShownPlan, change_plan, load_plan
from punchlist.model.ledger.run import Run
from punchlist.views.plans.plan_forms import Master, Sheet
from punchlist.web.api.fix_sessions.schemas import CODE, MASTER_PATH, Plan
from punchlist.web.api.routes import App, put_route, read_route
from punchlist.web.api.runs import RunId
from punchlist.web.api.views import name_state
from punchlist.web.problem import Refused
from punchlist.web.state import WebSession

Code = Annotated[str, PathParameter(pattern=f"^{CODE}$", description="The issue's code.")]


@read_route("/fix/{session_id:str}/plan", "The plan of a session, as its files have it")
async def plan(app: App, session_id: RunId) -> Plan:
    return await plan_part(app, app.find_run(session_id))


@put_route("/fix/{session_id:str}/plan/master_todo", "Change the order of work")
async def replace_master_todo(app: App, session_id: RunId, data: JSONBody[Master]) -> Plan:
    """An issue that is left out is not worked on in this round, and stays open."""
    return await _replace_part(app, session_id, data)


@put_route("/fix/{session_id:str}/plan/fix_todo/{code:str}", "Change how an issue is fixed")
async def replace_fix_todo(app: App, session_id: RunId, code: Code, data: JSONBody[Sheet]) -> Plan:
    """What the issue is about (its file, line and title) stays as it is."""
    if data.issue_code != code:
        raise Refused(
            400,
            f'the address says {code}, the body says "{data.issue_code}"',
            "send the same code in both",
        )
    if any(_is_outside(each.path) for each in data.context.related_files):
        raise Refused(
            400, "a related file must be inside of the repository", "name it from the root"
        )
    return await _replace_part(app, session_id, data)


async def plan_part(app: WebSession, run: Run) -> Plan:
    plan: ShownPlan = await asyncio.to_thread(load_plan, app.session, run)
    return Plan(
        session_id=run.id,
        ready=plan.changeable,
        state=name_state(app.run_state(run), interrupted=run.interrupted),
        message=app.explain_state(run),
        master_todo_path=MASTER_PATH,
        master_todo=plan.master,
        todos=plan.sheets,
        problems=plan.problems,
        issue_ids=run.started.issue_ids,
    )


async def _replace_part(app: WebSession, run_id: str, part: Master | Sheet) -> Plan:
    run = app.find_run(run_id)
    if not (await asyncio.to_thread(load_plan, app.session, run)).changeable:
        raise Refused(
            409,
            f"session {run.id} shows no plan that could be changed",
            app.explain_state(run),
            run=run.id,
        )
    async with app.session_of(run.id) as session:
        await asyncio.to_thread(change_plan, session, run.id, part)
    return await plan_part(app, app.find_run(run.id))


def _is_outside(path: str) -> bool:
    return (
        path.startswith(("/", "\\", "~"))
        or "\0" in path
        or ".." in path.replace("\\", "/").split("/")
    )


ROUTES = (plan, replace_master_todo, replace_fix_todo)
