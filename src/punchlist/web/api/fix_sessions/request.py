"""The request of a fix session: items of earlier runs as a file of findings, same scope."""

from collections.abc import Iterable

from msgspec.structs import replace

from punchlist.app.repositories import RepositoryEntry
from punchlist.app.start.findings_files import SETTLED, write_items
from punchlist.app.start.request import Request
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.web.api.fix_sessions.schemas import Session
from punchlist.web.api.runs import require_item, require_run
from punchlist.web.problem import Refused
from punchlist.web.state import WebSession

WORKFLOW = "challenged"


def make_request(app: WebSession, repository: RepositoryEntry, data: Session) -> Request:
    """Return the request of a session: the challenged workflow over the named issues."""
    numbers = _group_numbers(data.issue_ids)
    runs = {name: require_run(app, name, repository) for name in numbers}
    files = tuple(_export_items(app, runs[name], wanted) for name, wanted in numbers.items())
    plain = Request(workflow=WORKFLOW, findings=files, force=data.force, notes=data.user_notes)
    return _copy_scope(plain, next(iter(runs.values()))) if runs else plain


def _group_numbers(ids: Iterable[str]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for each in ids:
        run, _, number = each.rpartition("/")
        found.setdefault(run, []).append(int(number.removeprefix("F")))
    return found


def _export_items(app: WebSession, run: Run, numbers: list[int]) -> str:
    items = [require_item(run, number) for number in numbers]
    settled = next((item for item in items if item.status in SETTLED), None)
    if settled:
        what = f"item {settled.number} of run {run.id} is {settled.status} already"
        raise Refused(409, what, "leave it out", run=run.id)
    return write_items(app.home, run, sorted(numbers), hashed=True)


def _copy_scope(request: Request, earlier: Run) -> Request:
    """Take the earlier run's scope: items outside would not be worked on."""
    change = earlier.started.change
    match change.kind:
        case ScopeKind.BRANCH:
            return replace(request, kind=change.kind, base=change.base_name)
        case ScopeKind.COMMIT:
            return replace(request, kind=change.kind, commit=change.head)
        case ScopeKind.ALL | ScopeKind.STAGED:
            return replace(request, kind=change.kind)
