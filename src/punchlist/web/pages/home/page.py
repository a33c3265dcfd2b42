"""The first page: the runs of all repositories, and the repositories themselves."""

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
from punchlist.app.repositories import Registered
from punchlist.errors import PunchlistError
from punchlist.model.ledger.run_row import RunRow
from punchlist.views.run_line import RunLine, build_run_line
from punchlist.views.run_state import State, describe_state, find_state
from punchlist.web.api.routes import AtDesk
from punchlist.web.pages.home.run_lines import Glance, Glances
from punchlist.web.pages.rendering import onward, shown
from punchlist.web.pages.routes import Asking, acting, page
from punchlist.web.pages.words import link, number
from punchlist.web.problem import problem_of
from punchlist.web.state import Desk

AtGlances = NamedDependency[Glances]
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


class Search(Struct, frozen=True, kw_only=True):
    """What stands in the address bar."""

    q: Annotated[str, Meta(max_length=200)] = ""
    repository: Annotated[str, Meta(max_length=64)] = ""
    state: Annotated[str, Meta(max_length=20)] = ""


class Line(Struct, frozen=True, kw_only=True):
    """A run in the list; `glance` is None where it is not worked out yet."""

    run: RunLine
    repository: Registered
    glance: Glance | None


class Runs(Struct, frozen=True, kw_only=True):
    lines: tuple[Line, ...]
    found: int
    total: int
    page: int
    pages: int
    newer: str
    older: str
    waiting: int
    """Runs that wait for a person, whatever was searched for."""


class Registering(Struct, frozen=True, kw_only=True):
    path: Annotated[str, Meta(max_length=4000)] = ""


@page("/")
async def home(request: Asking, desk: AtDesk, glances: AtGlances) -> Response[str]:
    return shown(request, "home.html", **_values(desk, glances, dict(request.query_params)))


@page("/runs")
async def listed(request: Asking, desk: AtDesk, glances: AtGlances) -> Response[Any]:
    """The list by itself, as it is now; a whole page is at the first address."""
    query = dict(request.query_params)
    if "hx-request" not in request.headers:
        return onward(request, link("/", **query))
    search = search_of(query)
    headers = (
        {"hx-replace-url": link("/", **msgspec.structs.asdict(search))}
        if request.headers.get("hx-trigger") == _FORM
        else {}
    )
    return shown(request, "home_runs.html", headers=headers, **_values(desk, glances, query))


@acting("/repositories", Role.ADMIN)
async def register(
    request: Asking,
    desk: AtDesk,
    glances: AtGlances,
    data: Annotated[Registering, Body(media_type=RequestEncodingType.URL_ENCODED)],
) -> Response[Any]:
    try:
        await desk.repositories.register(Path(data.path.strip().replace("\0", "")))
    except PunchlistError as error:
        problem = problem_of(error, "")
        values = {**_values(desk, glances, {}), "wrong": problem, "typed": data.path}
        return shown(request, "home.html", problem.status, **values)
    return onward(request, "/")


@acting("/repositories/{repository_id:str}/forget", Role.ADMIN)
async def forget(request: Asking, desk: AtDesk, repository_id: str) -> Response[Any]:
    desk.repository(repository_id)
    desk.repositories.forget(repository_id)
    return onward(request, "/")


def _values(desk: Desk, glances: Glances, query: dict[str, str]) -> dict[str, Any]:
    search = search_of(query)
    return {
        "runs": runs(desk, glances, search, number(query.get("page", ""))),
        "repositories": desk.repositories.all(),
        "search": search,
        "states": STATES,
        "now": time.time(),
        "wrong": None,
        "typed": "",
    }


def search_of(query: dict[str, str]) -> Search:
    known = {name: query[name].strip() for name in Search.__struct_fields__ if name in query}
    try:
        return msgspec.convert(known, Search)
    except msgspec.ValidationError:
        return Search()


def runs(desk: Desk, glances: Glances, search: Search, turn: int) -> Runs:
    """Only those of the page are looked at closely."""
    homes = {each.git_dir: each for each in desk.repositories.all()}
    rows = desk.rows(None)
    found = [row for row in rows if _is(row, search, desk, homes[row.repository])]
    pages = max(1, -(-len(found) // RUNS))
    turn = min(max(1, turn), pages)
    shown_ = found[(turn - 1) * RUNS : turn * RUNS]
    known = glances.of(shown_)
    asked = msgspec.structs.asdict(search)
    return Runs(
        lines=tuple(_line(row, desk, homes[row.repository], known.get(row.id)) for row in shown_),
        found=len(found),
        total=len(rows),
        page=turn,
        pages=pages,
        newer=link("/", **asked, page=turn - 1) if turn > 1 else "",
        older=link("/", **asked, page=turn + 1) if turn < pages else "",
        waiting=sum(_state(row, desk) is State.WAITING for row in rows if not row.outcome),
    )


def _is(row: RunRow, search: Search, desk: Desk, home_: Registered) -> bool:
    return (
        (not search.repository or home_.id == search.repository)
        and (not search.state or _state(row, desk) is STATES.get(search.state))
        and (
            not search.q
            or search.q.casefold()
            in "\n".join((row.id, home_.name, desk.workflow_of(row.id), *_outcome(row))).casefold()
        )
    )


def _outcome(row: RunRow) -> tuple[str, ...]:
    """Return an outcome's name and its word."""
    return (row.outcome, describe_state(State.ENDED, row.outcome)) if row.outcome else ()


def _state(row: RunRow, desk: Desk) -> State:
    return find_state(row, driven=not row.outcome and desk.driven(row.id))


def _line(row: RunRow, desk: Desk, home_: Registered, glance: Glance | None) -> Line:
    line = build_run_line(
        row,
        driven=desk.driven(row.id),
        outcome=glance.outcome if glance else row.outcome,
        workflow=desk.workflow_of(row.id),
    )
    return Line(run=line, repository=home_, glance=glance)


ROUTES = (home, listed, register, forget)
