"""The first page: runs of all repositories, and the repositories."""

import time
from pathlib import Path
from typing import Annotated, Any

import msgspec
from litestar import Response
from litestar.di import NamedDependency
from litestar.enums import RequestEncodingType
from litestar.params import Body
from msgspec import Meta, Struct

from punchlist.app.access import Role
from punchlist.app.repositories import RepositoryEntry
from punchlist.errors import PunchlistError
from punchlist.model.ledger.run_row import RunRow
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State, describe_state, find_state
from punchlist.web.api.routes import AtDesk
from punchlist.web.pages.home.run_lines import Glance, GlanceCache
from punchlist.web.pages.rendering import redirect, render_page
from punchlist.web.pages.routes import Asking, form_page, page
from punchlist.web.pages.words import link, parse_page
from punchlist.web.problem import make_problem
from punchlist.web.state import WebSession

AtGlances = NamedDependency[GlanceCache]
RUNS = 25
STATES = {
    "running": State.UNDER_WAY,
    "waiting": State.WAITING,
    "stopped": State.STOPPED,
    "killed": State.KILLED,
    "ended": State.ENDED,
}
"""States by their names in the address bar."""
_FORM = "filters"


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
async def home(request: Asking, desk: AtDesk, glances: AtGlances) -> Response[str]:
    return render_page(
        request, "home.html", **_page_values(desk, glances, dict(request.query_params))
    )


@page("/runs")
async def run_list(request: Asking, desk: AtDesk, glances: AtGlances) -> Response[Any]:
    """Return the list alone for htmx; other requests are redirected to the first page."""
    query = dict(request.query_params)
    if "hx-request" not in request.headers:
        return redirect(request, link("/", **query))
    search = parse_search(query)
    headers = (
        {"hx-replace-url": link("/", **msgspec.structs.asdict(search))}
        if request.headers.get("hx-trigger") == _FORM
        else {}
    )
    return render_page(
        request, "home_runs.html", headers=headers, **_page_values(desk, glances, query)
    )


@form_page("/repositories", Role.ADMIN)
async def register(
    request: Asking,
    desk: AtDesk,
    glances: AtGlances,
    data: Annotated[RegisterForm, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    try:
        await desk.repositories.register(Path(data.path.strip().replace("\0", "")))
    except PunchlistError as error:
        problem = make_problem(error, "")
        values = {**_page_values(desk, glances, {}), "wrong": problem, "typed": data.path}
        return render_page(request, "home.html", problem.status, **values)
    return redirect(request, "/")


@form_page("/repositories/{repository_id:str}/forget", Role.ADMIN)
async def forget(request: Asking, desk: AtDesk, repository_id: str) -> Response[Any]:
    desk.find_repository(repository_id)
    desk.repositories.forget(repository_id)
    return redirect(request, "/")


def _page_values(desk: WebSession, glances: GlanceCache, query: dict[str, str]) -> dict[str, Any]:
    search = parse_search(query)
    return {
        "runs": list_runs(desk, glances, search, parse_page(query.get("page", ""))),
        "repositories": desk.repositories.list_all(),
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


def list_runs(desk: WebSession, glances: GlanceCache, search: RunSearch, turn: int) -> RunListPage:
    """Return one page of the runs found; only these are folded."""
    homes = {each.git_dir: each for each in desk.repositories.list_all()}
    rows = desk.list_rows(None)
    found = [row for row in rows if _matches_search(row, search, desk, homes[row.repository])]
    pages = max(1, -(-len(found) // RUNS))
    turn = min(max(1, turn), pages)
    shown_ = found[(turn - 1) * RUNS : turn * RUNS]
    known = glances.load_glances(shown_)
    asked = msgspec.structs.asdict(search)
    return RunListPage(
        lines=tuple(
            _build_row(row, desk, homes[row.repository], known.get(row.id)) for row in shown_
        ),
        found=len(found),
        total=len(rows),
        page=turn,
        pages=pages,
        newer=link("/", **asked, page=turn - 1) if turn > 1 else "",
        older=link("/", **asked, page=turn + 1) if turn < pages else "",
        waiting=sum(_run_state(row, desk) is State.WAITING for row in rows if not row.outcome),
    )


def _matches_search(
    row: RunRow, search: RunSearch, desk: WebSession, home_: RepositoryEntry
) -> bool:
    return (
        (not search.repository or home_.id == search.repository)
        and (not search.state or _run_state(row, desk) is STATES.get(search.state))
        and (
            not search.q
            or search.q.casefold()
            in "\n".join((row.id, home_.name, desk.workflow_of(row.id), *_outcome(row))).casefold()
        )
    )


def _outcome(row: RunRow) -> tuple[str, ...]:
    """Return an outcome's name and its word."""
    return (row.outcome, describe_state(State.ENDED, row.outcome)) if row.outcome else ()


def _run_state(row: RunRow, desk: WebSession) -> State:
    return find_state(row, driven=not row.outcome and desk.is_driven(row.id))


def _build_row(
    row: RunRow, desk: WebSession, home_: RepositoryEntry, glance: Glance | None
) -> RunListRow:
    line = build_run_line(
        row,
        driven=desk.is_driven(row.id),
        outcome=glance.outcome if glance else row.outcome,
        workflow=desk.workflow_of(row.id),
    )
    return RunListRow(run=line, repository=home_, glance=glance)


ROUTES = (home, run_list, register, forget)
