"""The plan files that a run shows before fixing: load, change and check them."""

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Planned
from punchlist.model.ledger.run import Run
from punchlist.views.plans.plan_files import decode_file, encode_file, read_plan
from punchlist.views.plans.plan_forms import (
    MASTER,
    Blueprint,
    Issue,
    Master,
    Sheet,
    Total,
    issue_code,
    make_blueprint,
    make_sheet,
    sheet_name,
)

FOLDER = "plan"


class ShownPlan(Struct, frozen=True, kw_only=True):
    """`changeable` while the run waits for an answer about it; `problems` prevent its use."""

    changeable: bool
    master: Master = Master()
    sheets: tuple[Sheet, ...] = ()
    problems: tuple[str, ...] = ()


def load_plan(session: Session, run: Run) -> ShownPlan:
    """Load the plan; an unreadable file is left out, and is a problem."""
    plan = _load_blueprint(run)
    files = _read_files(session, run, plan.codes.values() if plan else ())
    master, _ = decode_file(MASTER, files.get(MASTER, b"{}"), Master)
    if plan is None and master is not None:
        issues = (issue for step in master.execution_steps for issue in step.issues)
        files |= _read_files(session, run, (issue.code for issue in issues))
    sheets = (decode_file(name, files[name], Sheet)[0] for name in files if name != MASTER)
    return ShownPlan(
        changeable=plan is not None,
        master=master or Master(),
        sheets=tuple(sheet for sheet in sheets if sheet is not None),
        problems=_find_problems(files, run, plan) if plan else (),
    )


def change_plan(session: Session, run_id: str, part: Master | Sheet) -> Run:
    """Replace the order of work, or the sheet of one issue. Raise UsageError if it is wrong."""
    found = session.load(run_id).id
    with session.state.leases.acquire(found):
        run = session.load(found)  # inside the lease: the run cannot go on meanwhile
        plan = _load_blueprint(run)
        if plan is None:
            raise UsageError(
                f"run {run.id} shows no plan that could be changed",
                hint=f"punchlist status {run.id}",
            )
        name, value = (
            _rebuild_master(plan, part) if isinstance(part, Master) else _rebuild_sheet(plan, part)
        )
        files = _read_files(session, run, plan.codes.values())
        content = encode_file(value)
        before = _find_problems(files, run, plan)
        for problem in _find_problems(files | {name: content}, run, plan):
            if problem not in before:
                hint = "nothing was changed; put that right and send it again"
                raise UsageError(problem, hint=hint)
        session.artifacts(run.id).write(f"{FOLDER}/{name}", content)
    return run


def _load_blueprint(run: Run) -> Blueprint | None:
    """Return what the files were made of, or None if the run does not wait for them."""
    arranged = run.position.here.get("batches")
    if run.waiting_for is None or not isinstance(arranged, Planned) or not arranged.files:
        return None
    mine = (batch for batch in arranged.batches if batch.uses_agent)
    return make_blueprint(run, mine, arranged.files[0].rpartition("/")[0], arranged.after)


def _read_files(session: Session, run: Run, codes: Iterable[str]) -> dict[str, bytes]:
    """Return the existing plan files by name; unknown codes are ignored."""
    known = {issue_code(run, number) for number in run.items}
    names = [MASTER, *(sheet_name(each) for each in codes if each in known)]
    artifacts = session.artifacts(run.id)
    contents = {name: artifacts.read(f"{FOLDER}/{name}") for name in names}
    return {name: content for name, content in contents.items() if content is not None}


def _find_problems(files: Mapping[str, bytes], run: Run, plan: Blueprint) -> tuple[str, ...]:
    return read_plan(files, run, plan.batches, after=plan.after).problems


def _rebuild_master(plan: Blueprint, master: Master) -> tuple[str, Master]:
    """Keep the user's order; set numbers, file names and sums."""
    paths = {code: f"{plan.folder}/{sheet_name(code)}" for code in plan.codes.values()}
    steps = []
    for place, step in enumerate(master.execution_steps, 1):
        issues = (
            Issue(each.code, paths.get(each.code, ""), each.agent_type) for each in step.issues
        )
        steps.append(replace(step, step=place, issues=tuple(issues)))
    total = Total(sum(len(step.issues) for step in steps), len(steps))
    return MASTER, Master(plan.run, plan.branch, tuple(steps), total)


def _rebuild_sheet(plan: Blueprint, sheet: Sheet) -> tuple[str, Sheet]:
    """Keep the user's text; restore what the issue is about."""
    number = next((each for each in plan.numbers if plan.codes[each] == sheet.issue_code), None)
    if number is None:
        raise UsageError(
            f'no issue of this plan is called "{sheet.issue_code}"',
            hint=f"one of: {', '.join(plan.codes[each] for each in plan.numbers[:10])}",
        )
    own = make_sheet(plan, number)
    return sheet_name(own.issue_code), replace(
        sheet, issue_id=own.issue_id, file=own.file, line=own.line, title=own.title
    )
