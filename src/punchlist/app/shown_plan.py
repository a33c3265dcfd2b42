"""The plan that a run shows before it fixes anything: looked at and changed as in its files, and
checked at once.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.lease import Lease
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Planned
from punchlist.model.ledger.run import Run
from punchlist.views.plan_files import decoded, read_plan, written
from punchlist.views.plan_forms import (
    MASTER,
    Blueprint,
    Issue,
    Master,
    Sheet,
    Total,
    blueprint,
    code,
    sheet_name,
    sheet_of,
)

FOLDER = "plan"


class ShownPlan(Struct, frozen=True, kw_only=True):
    """As the files have it. `changeable` while the run waits for a word about it; `problems` keep
    it from being used as it is.
    """

    changeable: bool
    master: Master = Master()
    sheets: tuple[Sheet, ...] = ()
    problems: tuple[str, ...] = ()


def shown_plan(home: Path, run: Run) -> ShownPlan:
    """What cannot be read is left out, and is a problem."""
    plan = _blueprint(home, run)
    files = _files(home, run, [code(number) for number in plan.numbers] if plan else [])
    master, _ = decoded(MASTER, files.get(MASTER, b"{}"), Master)
    if plan is None and master is not None:
        files |= _files(
            home, run, [issue.code for step in master.execution_steps for issue in step.issues]
        )
    sheets = (decoded(name, content, Sheet)[0] for name, content in files.items() if name != MASTER)
    return ShownPlan(
        changeable=plan is not None,
        master=master or Master(),
        sheets=tuple(sheet for sheet in sheets if sheet is not None),
        problems=_problems(files, run, plan) if plan else (),
    )


def change_plan(session: Session, run_id: str, part: Master | Sheet) -> Run:
    """Puts the order of work, or the sheet of one issue, in the place of the one that is there; or
    says what is wrong with it.
    """
    found = session.load(run_id).id
    with Lease.take(session.home, found):  # loaded inside: nobody lets it go on meanwhile
        run = session.load(found)
        plan = _blueprint(session.home, run)
        if plan is None:
            raise UsageError(
                f"run {run.id} shows no plan that could be changed",
                hint=f"punchlist status {run.id}",
            )
        name, value = _ordered(plan, part) if isinstance(part, Master) else _about(plan, part)
        files = _files(session.home, run, [code(number) for number in plan.numbers])
        changed = files | {name: written(value)}
        if wrong := [
            each
            for each in _problems(changed, run, plan)
            if each not in _problems(files, run, plan)
        ]:
            raise UsageError(wrong[0], hint="nothing was changed; put that right and send it again")
        FolderArtifacts(run_folder(session.home, run.id)).write(f"{FOLDER}/{name}", changed[name])
    return run


def _blueprint(home: Path, run: Run) -> Blueprint | None:
    """What the files were made of, while the run waits for a word about them."""
    arranged = run.position.here.get("batches")
    if run.waiting_for is None or not isinstance(arranged, Planned) or not arranged.files:
        return None
    mine = (batch for batch in arranged.batches if batch.by_agent)
    return blueprint(run, mine, str(run_folder(home, run.id) / FOLDER), arranged.after)


def _files(home: Path, run: Run, codes: list[str]) -> dict[str, bytes]:
    """By name, those that are there; codes that no item has name nothing."""
    known = {code(number): number for number in run.items}
    names = [MASTER, *(sheet_name(known[each]) for each in codes if each in known)]
    artifacts = FolderArtifacts(run_folder(home, run.id))
    return {
        name: content
        for name in names
        if (content := artifacts.read(f"{FOLDER}/{name}")) is not None
    }


def _problems(files: Mapping[str, bytes], run: Run, plan: Blueprint) -> tuple[str, ...]:
    return read_plan(files, run, plan.batches, after=plan.after).problems


def _ordered(plan: Blueprint, master: Master) -> tuple[str, Master]:
    """The order is theirs. Numbers, names of files and sums are ours."""
    ours = {code(number): f"{plan.folder}/{sheet_name(number)}" for number in plan.numbers}
    steps = tuple(
        replace(
            step,
            step=place,
            issues=tuple(
                Issue(each.code, ours.get(each.code, ""), each.agent_type) for each in step.issues
            ),
        )
        for place, step in enumerate(master.execution_steps, 1)
    )
    total = Total(sum(len(step.issues) for step in steps), len(steps))
    return MASTER, Master(plan.run, plan.branch, steps, total)


def _about(plan: Blueprint, sheet: Sheet) -> tuple[str, Sheet]:
    """What it is about is not theirs to say."""
    number = next((each for each in plan.numbers if code(each) == sheet.issue_code), None)
    if number is None:
        raise UsageError(
            f'no issue of this plan is called "{sheet.issue_code}"',
            hint=f"one of: {', '.join(map(code, plan.numbers[:10]))}",
        )
    own = sheet_of(plan, number)
    return sheet_name(number), replace(
        sheet, issue_id=own.issue_id, file=own.file, line=own.line, title=own.title
    )
