"""The routes to a session's plan: looked at, and changed before the fixing starts,
as in its files.
"""

from typing import Annotated

from litestar.params import JSONBody, PathParameter

from punchlist.app.shown_plan import ShownPlan, change_plan, shown_plan
from punchlist.model.ledger.run import Run
from punchlist.views.plan_forms import Master, Sheet
from punchlist.web.api.fix_sessions.schemas import MASTER_PATH, Plan
from punchlist.web.api.routes import AtDesk, looking, replacing
from punchlist.web.api.runs import RunId
from punchlist.web.api.views import name_state
from punchlist.web.problem import Refused
from punchlist.web.state import Desk

Code = Annotated[str, PathParameter(pattern=r"^F[0-9]{3,9}$", description="The issue's code.")]


@looking(
    "/fix/{session_id:str}/plan",
    operation_id="plan",
    summary="The plan of a session, as its files have it",
)
async def look(desk: AtDesk, session_id: RunId) -> Plan:
    return plan_part(desk, desk.run(session_id))


@replacing(
    "/fix/{session_id:str}/plan/master_todo",
    operation_id="replace_master_todo",
    summary="Change the order of work",
)
async def order(desk: AtDesk, session_id: RunId, data: JSONBody[Master]) -> Plan:
    """An issue that is left out is not worked on in this round, and stays open."""
    return await _changed(desk, session_id, data)


@replacing(
    "/fix/{session_id:str}/plan/fix_todo/{code:str}",
    operation_id="replace_fix_todo",
    summary="Change how an issue is fixed",
)
async def todo(desk: AtDesk, session_id: RunId, code: Code, data: JSONBody[Sheet]) -> Plan:
    """What the issue is about (its file, line and title) stays as it is."""
    if data.issue_code != code:
        raise Refused(
            400,
            f'the address says {code}, the body says "{data.issue_code}"',
            next_="send the same code in both",
        )
    if any(_leads_out(each.path) for each in data.context.related_files):
        raise Refused(
            400, "a related file must be inside of the repository", next_="name it from the root"
        )
    return await _changed(desk, session_id, data)


def plan_part(desk: Desk, run: Run) -> Plan:
    plan: ShownPlan = shown_plan(desk.home, run)
    return Plan(
        session_id=run.id,
        ready=plan.changeable,
        state=name_state(desk.state(run), interrupted=run.interrupted),
        message=desk.why(run),
        master_todo_path=MASTER_PATH,
        master_todo=plan.master,
        todos=plan.sheets,
        problems=plan.problems,
    )


async def _changed(desk: Desk, run_id: str, part: Master | Sheet) -> Plan:
    run = desk.run(run_id)
    if not shown_plan(desk.home, run).changeable:
        raise Refused(
            409,
            f"session {run.id} shows no plan that could be changed",
            next_=desk.why(run),
            run=run.id,
        )
    async with desk.session_of(run.id) as session:
        change_plan(session, run.id, part)
    return plan_part(desk, desk.run(run.id))


def _leads_out(path: str) -> bool:
    return (
        path.startswith(("/", "\\", "~"))
        or "\0" in path
        or ".." in path.replace("\\", "/").split("/")
    )


ROUTES = (look, order, todo)
