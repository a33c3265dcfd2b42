"""The page of one run, whole and in the parts that change while it goes on; and its papers."""

import asyncio
import time
from hashlib import sha256
from typing import Any

from litestar import Response
from litestar.di import NamedDependency
from markupsafe import Markup
from msgspec import Struct

from punchlist.adapters.reports import WRITTEN
from punchlist.model.run import Run
from punchlist.web.artifacts import content
from punchlist.web.desk import Desk
from punchlist.web.doors import AtDesk
from punchlist.web.pages import views_run
from punchlist.web.pages.board import PROOFS, asked_for, board, filters_of, pages_of
from punchlist.web.pages.doors import Asking, page, visitor_of
from punchlist.web.pages.questions import panel
from punchlist.web.pages.rendering import rendered, shown
from punchlist.web.pages.spending import Spending
from punchlist.web.pages.words import link
from punchlist.web.problem import Refused
from punchlist.web.tokens import Visitor

AtSpending = NamedDependency[Spending]
_PARTS = {
    "head": "run_head.html",
    "questions": "questions.html",
    "flight": "run_flight.html",
    "board": "run_board.html",
    "timeline": "run_timeline.html",
    "ground": "run_ground.html",
}
_TYPES = {"html": "text/html", "json": "application/json", "sarif": "application/json", "xml": "application/xml"}
_FORM = "filters"


class Part(Struct, frozen=True):
    """A piece of the page. `mark` says what it holds: one that is the same need not be put in place again."""

    name: str
    mark: str
    html: Markup


class Papers(Struct, frozen=True):
    """What a run's page is made of, whoever looks."""

    run: Run
    values: dict[str, Any]


@page("/runs/{run_id:str}")
async def run_page(request: Asking, desk: AtDesk, spending: AtSpending, run_id: str) -> Response[str]:
    papers = papers_of(desk, spending, run_id, dict(request.query_params))
    parts = parts_of(papers, visitor_of(request))
    return shown(request, "run.html", parts=parts, proofs=PROOFS, **papers.values)


@page("/runs/{run_id:str}/parts")
async def run_parts(request: Asking, desk: AtDesk, spending: AtSpending, run_id: str) -> Response[str]:
    """All parts as they are now; the browser puts those in place that are not the same."""
    query = dict(request.query_params)
    papers = papers_of(desk, spending, run_id, query)
    parts = parts_of(papers, visitor_of(request))
    typed = request.headers.get("hx-trigger") == _FORM
    headers = {"hx-replace-url": link(f"/runs/{papers.run.id}", **asked_for(filters_of(query)))} if typed else {}
    return shown(request, "run_parts.html", headers=headers, parts=parts)


@page("/runs/{run_id:str}/reports/{form:str}")
async def report(desk: AtDesk, run_id: str, form: str) -> Response[bytes]:
    """In a sandbox of its own, as the API gives it."""
    run = desk.run(run_id)
    name = next((name for name in WRITTEN if name == form or name.removeprefix("report.").split(".")[0] == form), None)
    if name is None:
        raise Refused(404, "there is no such report", next_=f"one of: {', '.join(WRITTEN)}")
    made = await asyncio.to_thread(WRITTEN[name], run)  # a large one takes seconds
    return Response(made, media_type=_TYPES.get(name.rpartition(".")[2], "text/plain"))


@page("/runs/{run_id:str}/files/{name:path}")
async def file(desk: AtDesk, run_id: str, name: str) -> Response[bytes]:
    """Evidence, transcripts, plans: shown as text, whatever is in them."""
    run = desk.run(run_id)
    found = content(desk.home, run.id, name.removeprefix("/"))
    if found is None:
        raise Refused(404, f"run {run.id} has no such file", next_="its page names those that there are")
    return Response(found, media_type="text/plain")


def papers_of(desk: Desk, spending: Spending, run_id: str, query: dict[str, str]) -> Papers:
    run = desk.run(run_id)
    driven, here = desk.driven(run.id), desk.driving.drives(run.id)
    head = views_run.head(
        run, desk.home_of(run), desk.state(run), elsewhere=driven and not here, broke=desk.driving.broke(run.id)
    )
    turn = query.get("t", "")
    filters = filters_of(query)
    values = {
        "run": run,
        "head": head,
        "panel": panel(run),
        "flight": views_run.flight(run, desk.driving.under_way(run.id), desk.driving.talk.after(run.id, 0), driven=driven),
        "board": board(run, filters, pages_of(query)),
        "timeline": views_run.timeline(run, int(turn) if turn.isdecimal() and len(turn) < 7 else 1),  # noqa: PLR2004 - a page of a million
        "ground": views_run.ground(run),
        "spending": spending.of(run.id),
        "filters": filters,
        "query": {name: value for name, value in query.items() if name != "t"},
        "now": time.time(),
    }
    return Papers(run, values)


def parts_of(papers: Papers, visitor: Visitor) -> dict[str, Part]:
    return {name: _part(name, rendered(template, visitor=visitor, **papers.values)) for name, template in _PARTS.items()}


def _part(name: str, html: str) -> Part:
    return Part(name, sha256(html.encode()).hexdigest()[:12], Markup(html))  # noqa: S704 - rendered by a template of ours


ROUTES = (run_page, run_parts, report, file)
