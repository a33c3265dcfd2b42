"""The request of a fix session: the chosen issues as a file of findings, and nothing else."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from punchlist.app.repositories import RepositoryEntry
from punchlist.app.start.findings_files import SETTLED, describe_item, write_issues
from punchlist.app.start.request import Request, copy_scope
from punchlist.model.ledger.run import Run
from punchlist.web.api.fix_sessions.schemas import GivenIssue, Onward, Session, StartFix
from punchlist.web.api.runs import adjust, require_item, require_run
from punchlist.web.problem import Refused
from punchlist.web.state import WebSession
from punchlist.workflow.loader import load_builtin, parse_workflow

WORKFLOW = "challenged"
_ITEM = re.compile(r"(?P<run>[A-Za-z0-9][A-Za-z0-9-]{0,63})/F?(?P<number>[0-9]{1,9})")
_OWN_CODE = re.compile(r"F[0-9]{3,}", re.IGNORECASE)


def make_request(app: WebSession, repository: RepositoryEntry, data: Session) -> Request:
    """Return the request of a session: the challenged workflow over the chosen issues. One issue
    whose plan is not shown first needs no planner.
    """
    rounds = _read_rounds(data)
    adjust(load_builtin(WORKFLOW), rounds, data.threshold)
    plain = Request(
        workflow=WORKFLOW,
        force=data.force,
        notes=data.user_notes,
        rounds=rounds,
        threshold=data.threshold,
        clarify=not isinstance(data, Onward) or data.clarify,
    )
    _check_issues(data.issues)
    given = {issue.issue_id: issue for issue in data.issues}
    chosen = sorted(dict.fromkeys(data.issue_ids or given))
    if not chosen:
        return plain
    runs = {
        run: require_run(app, run, repository)
        for each in chosen
        if each not in given
        for run in (_parse_item(each)[0],)
    }
    entries = [_describe_issue(each, given, runs) for each in chosen]
    _check_codes(entries)
    file = write_issues(app.home, entries)
    planner = len(chosen) > 1 or not isinstance(data, StartFix)
    request = replace(plain, findings=(file,), issue_ids=tuple(chosen), planner=planner)
    return copy_scope(request, next(iter(runs.values()))) if runs else request


def _read_rounds(data: Session) -> int | None:
    names = {data.rounds, data.max_iterations} - {None}
    if len(names) > 1:
        raise Refused(422, "rounds and max_iterations are the same, and differ", "give one of them")
    return next(iter(names), None)


def require_same_session(run: Run, data: Session) -> None:
    """Refuse a request that goes on with a session and wants other issues, rounds or threshold."""
    _require_same_issues(run, data)
    pinned = parse_workflow(run.started.workflow, run.started.workflow_name, "the session")
    if adjust(pinned, _read_rounds(data), data.threshold).steps != pinned.steps:
        raise Refused(
            409,
            f"session {run.id} began with other rounds or another threshold",
            "leave them out to go on with the session, or begin another without its id",
            run=run.id,
        )


def _require_same_issues(run: Run, data: Session) -> None:
    named = set(data.issue_ids or (issue.issue_id for issue in data.issues))
    own = set(run.started.issue_ids or (f"{run.id}/{item.number}" for item in run.in_scope))
    if named and named != own:
        odd = min(named ^ own)
        raise Refused(
            409,
            f"session {run.id} has other issues than this request: {odd} is in one of them only",
            "leave issue_ids out to go on with the session, or begin another without its id",
            run=run.id,
        )


def _parse_item(name: str) -> tuple[str, int]:
    """Return the run and the number of an item's id. Refuse an id that is none."""
    found = _ITEM.fullmatch(name)
    if found is None:
        raise Refused(
            400,
            f"no issue is called {name!r}",
            "name an item as RUN/NUMBER (GET /api/runs/RUN/items), or hand the issue over in"
            " `issues`",
        )
    return found["run"], int(found["number"])


def _describe_issue(
    name: str, given: Mapping[str, GivenIssue], runs: Mapping[str, Run]
) -> dict[str, Any]:
    """Return an issue as an entry of a findings file."""
    if name in given:
        return dict(_list_fields(given[name]))
    run_id, number = _parse_item(name)
    item = require_item(runs[run_id], number)
    if item.status in SETTLED:
        what = f"item {item.number} of run {run_id} is {item.status} already"
        raise Refused(409, what, "leave it out", run=run_id)
    return describe_item(item, runs[run_id]) | {"issue_id": name}


def _list_fields(issue: GivenIssue) -> Iterator[tuple[str, Any]]:
    notes = f"Notes of the user: {issue.user_notes}" if issue.user_notes else ""
    texts = {"description": "\n\n".join(filter(None, (issue.description, notes)))}
    for name, value in (msgspec.to_builtins(issue) | texts).items():
        if value and name != "user_notes":
            yield name, value


def _check_issues(issues: Iterable[GivenIssue]) -> None:
    """Refuse issues of one id, paths outside of the repository, and texts of blanks."""
    for issue in issues:
        if not issue.title.strip():
            raise _wrong_issue(issue.issue_id, "its title is blank", "say what is wrong")
        if issue.file and ".." in issue.file.split("/"):
            outside = "its file must be inside of the repository"
            raise _wrong_issue(issue.issue_id, outside, "name it from the root")
    twice = [name for name, count in Counter(each.issue_id for each in issues).items() if count > 1]
    if twice:
        raise _wrong_issue(twice[0], "two issues have this id", "give each issue an id of its own")


def _check_codes(entries: Iterable[Mapping[str, Any]]) -> None:
    """Refuse two issues of one code, and codes that punchlist may give to another issue."""
    codes = {str(each["issue_id"]): str(each.get("issue_code", "")) for each in entries}
    spelled = Counter(code.casefold() for code in codes.values() if code)
    for name, code in codes.items():
        if spelled[code.casefold()] > 1:
            raise _wrong_issue(name, f"two issues have the code {code}", "give each its own")
        if _OWN_CODE.fullmatch(code) and "" in codes.values():
            taken = f"punchlist may give the code {code} to an issue without one"
            raise _wrong_issue(name, taken, "give every issue a code, or none of this form")


def _wrong_issue(name: str, what: str, then: str) -> Refused:
    return Refused(422, f"issue {name}: {what}", then)
