"""The first page: runs of all repositories, and the repositories."""

import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.params import URLEncodedBody
from msgspec import Meta, Struct
from msgspec.structs import asdict

from punchlist.app.access import Role
from punchlist.app.repositories import RepositoryEntry, find_owner
from punchlist.errors import PunchlistError
from punchlist.model.ledger.run_row import RunRow
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State, describe_state, find_state
from punchlist.views.tables.paging import fit_page
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.pages.home.run_lines import Glance, GlanceCache
from punchlist.web.pages.rendering import redirect, render_page, replace_url
from punchlist.web.pages.routes import form_page, page
from punchlist.web.pages.words import link, parse_page
from punchlist.web.problem import make_problem
from punchlist.web.state import WebSession

Glances = NamedDependency[GlanceCache]
RUNS = 25
STATES = {
    "running": State.UNDER_WAY,
    "waiting": State.WAITING,
    "stopped": State.STOPPED,
    "killed": State.KILLED,
    "ended": State.ENDED,
}
"""States by their names in the address bar."""


class RunSearch(Struct, frozen=True, kw_only=True):
    q: Annotated[str, Meta(max_length=200)] = ""
    repository: Annotated[str, Meta(max_length=64)] = ""
    state: Annotated[str, Meta(max_length=20)] = ""


class RunListRow(Struct, frozen=True, kw_only=True):
    """A run in the list; `glance` is None while it is not computed yet."""

    run: RunLine
    repository: RepositoryEntry
    glance: Glance | None


class RunListPage(Struct, frozen=True, kw_only=True):
    lines: tuple[RunListRow, ...]
    found: int
    total: int
    page: int
    pages: int
    newer: str
    older: str
    waiting: int
    """Runs that wait for a person, whatever was searched for."""


class RegisterForm(Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4000)] = ""


@page("/")
async def home(request: AnyRequest, app: App, glances: Glances) -> Response[str]:
    values = _page_values(app, glances, dict(request.query_params))
    return render_page(request, "home.html", **values)


@page("/runs")
async def run_list(request: AnyRequest, app: App, glances: Glances) -> Response[Any]:
    """Return the list alone for htmx; other requests are redirected to the first page."""
    query = dict(request.query_params)
    if "hx-request" not in request.headers:
        return redirect(request, link("/", **query))
    headers = replace_url(request, "/", asdict(parse_search(query)))
    values = _page_values(app, glances, query)
    return render_page(request, "home_runs.html", headers=headers, **values)


@form_page("/repositories", Role.ADMIN)
async def register(
    request: AnyRequest, app: App, glances: Glances, data: URLEncodedBody[RegisterForm]
) -> Response[Any]:
    try:
        await app.repositories.register(Path(data.path.strip().replace("\0", "")))
    except PunchlistError as error:
        problem = make_problem(error, "")
        values = {**_page_values(app, glances, {}), "wrong": problem, "typed": data.path}
        return render_page(request, "home.html", problem.status, **values)
    return redirect(request, "/")


@form_page("/repositories/{repository_id:str}/forget", Role.ADMIN)
async def forget(request: AnyRequest, app: App, repository_id: str) -> Response[Any]:
    app.find_repository(repository_id)
    app.repositories.forget(repository_id)
    return redirect(request, "/")


def _page_values(app: WebSession, glances: GlanceCache, query: dict[str, str]) -> dict[str, Any]:
    search = parse_search(query)
    return {
        "runs": list_runs(app, glances, search, parse_page(query.get("page", ""))),
        "repositories": app.repositories.list_all(),
        "search": search,
        "states": STATES,
        "now": time.time(),
        "wrong": None,
        "typed": "",
    }


def parse_search(query: dict[str, str]) -> RunSearch:
    known = {name: query[name].strip() for name in RunSearch.__struct_fields__ if name in query}
    try:
        return msgspec.convert(known, RunSearch)
    except msgspec.ValidationError:
        return RunSearch()


def list_runs(app: WebSession, glances: GlanceCache, search: RunSearch, turn: int) -> RunListPage:
    """Return one page of the runs found; only these are folded."""
    known_homes = app.repositories.list_all()
    rows = app.list_rows(None)
    owners = {row.id: find_owner(known_homes, row.repository, row.identity) for row in rows}
    homes = {run: owner for run, owner in owners.items() if owner}
    rows = [row for row in rows if row.id in homes]
    found = [row for row in rows if _matches_search(row, search, app, homes[row.id])]
    page, pages = fit_page(turn, len(found), RUNS)
    shown = found[(page - 1) * RUNS : page * RUNS]
    known = glances.load_glances(shown)
    query = asdict(search)
    return RunListPage(
        lines=tuple(_build_row(row, app, homes[row.id], known.get(row.id)) for row in shown),
        found=len(found),
        total=len(rows),
        page=page,
        pages=pages,
        newer=link("/", **query, page=page - 1) if page > 1 else "",
        older=link("/", **query, page=page + 1) if page < pages else "",
        waiting=sum(_run_state(row, app) is State.WAITING for row in rows if not row.outcome),
    )


def _matches_search(
    row: RunRow, search: RunSearch, app: WebSession, home_: RepositoryEntry
) -> bool:
    if search.repository and search.repository != home_.id:
        return False
    if search.state and _run_state(row, app) is not STATES.get(search.state):
        return False
    if not search.q:
        return True
    text = "\n".join((row.id, home_.name, app.workflow_of(row.id), *_outcome(row)))
    return search.q.casefold() in text.casefold()


def _outcome(row: RunRow) -> tuple[str, ...]:
    """Return an outcome's name and its word."""
    return (row.outcome, describe_state(State.ENDED, row.outcome)) if row.outcome else ()


def _run_state(row: RunRow, app: WebSession) -> State:
    return find_state(row, driven=not row.outcome and app.is_driven(row.id))


def _build_row(
    row: RunRow, app: WebSession, home_: RepositoryEntry, glance: Glance | None
) -> RunListRow:
    line = build_run_line(
        row,
        driven=app.is_driven(row.id),
        outcome=glance.outcome if glance else row.outcome,
        workflow=app.workflow_of(row.id),
    )
    return RunListRow(run=line, repository=home_, glance=glance)


ROUTES = (home, run_list, register, forget)
