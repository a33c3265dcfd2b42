"""Items of earlier runs, handed on to a new one: as a file of findings, about the same change."""

from collections.abc import Iterable

from msgspec.structs import replace

from punchlist.app import Request
from punchlist.app.repositories import Registered
from punchlist.app.start.findings_files import SETTLED, hand_on
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.web.api.fix_sessions.schemas import Session
from punchlist.web.api.runs import of_repository
from punchlist.web.problem import Refused
from punchlist.web.state import Desk

WORKFLOW = "challenged"


def wish(desk: Desk, repository: Registered, data: Session) -> Request:
    """The run that a session is: one of the challenged workflow, over the issues
    that were named.
    """
    numbers = _by_run(data.issue_ids)
    runs = {name: of_repository(desk, name, repository) for name in numbers}
    files = tuple(_handed_on(desk, runs[name], wanted) for name, wanted in numbers.items())
    plain = Request(workflow=WORKFLOW, findings=files, force=data.force, notes=data.user_notes)
    return _about_the_same(plain, next(iter(runs.values()))) if runs else plain


def _by_run(ids: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in ids:
        run, _, number = each.rpartition("/")
        found.setdefault(run, []).append(int(number.removeprefix("F")))
    return found


def _handed_on(desk: Desk, run: Run, numbers: list[int]) -> str:
    unknown = [number for number in numbers if number not in run.items]
    if unknown:
        raise Refused(
            404,
            f"run {run.id} has no item {unknown[0]}",
            next_=f"GET /api/runs/{run.id}/items lists them",
        )
    done = [number for number in numbers if run.items[number].status in SETTLED]
    if done:
        raise Refused(
            409,
            f"item {done[0]} of run {run.id} is {run.items[done[0]].status} already",
            next_="leave it out",
            run=run.id,
        )
    return hand_on(desk.home, run, sorted(numbers), hashed=True)


def _about_the_same(request: Request, earlier: Run) -> Request:
    """Scope as it was: an item outside of it would be listed, and not worked on."""
    change = earlier.started.change
    match change.kind:
        case ScopeKind.BRANCH:
            return replace(request, kind=change.kind, base=change.base_name)
        case ScopeKind.COMMIT:
            return replace(request, kind=change.kind, commit=change.head)
        case ScopeKind.ALL | ScopeKind.STAGED:
            return replace(request, kind=change.kind)
