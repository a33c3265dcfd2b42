"""The page of one run, its parts for htmx, its reports and files."""

import asyncio

from litestar import Response
from litestar.di import NamedDependency

from punchlist.app.after.reports import REPORT_NAMES, content_type, find_report, render_report
from punchlist.web.api.artifacts import read_artifact
from punchlist.web.api.routes import AtDesk
from punchlist.web.pages.rendering import render_page
from punchlist.web.pages.routes import Asking, get_visitor, page
from punchlist.web.pages.run.board import PROOFS, filter_query
from punchlist.web.pages.run.parts import PartCache, load_view, render_parts
from punchlist.web.pages.words import link
from punchlist.web.problem import Refused

AtShelf = NamedDependency[PartCache]
_FORM = "filters"


@page("/runs/{run_id:str}")
async def run_page(request: Asking, desk: AtDesk, shelf: AtShelf, run_id: str) -> Response[str]:
    here = load_view(desk, run_id, dict(request.query_params))
    made = render_parts(here, get_visitor(request), shelf)
    return render_page(
        request,
        "run.html",
        parts=made,
        proofs=PROOFS,
        run=here.run,
        head=here.head,
        filters=here.filters,
    )


@page("/runs/{run_id:str}/parts")
async def run_parts(request: Asking, desk: AtDesk, shelf: AtShelf, run_id: str) -> Response[str]:
    """Return the parts that differ from those the browser has."""
    here = load_view(desk, run_id, dict(request.query_params))
    typed = request.headers.get("hx-trigger") == _FORM
    headers = (
        {"hx-replace-url": link(f"/runs/{here.run.id}", **filter_query(here.filters))}
        if typed
        else {}
    )
    there = request.headers.get("x-parts", "").split()
    made = render_parts(here, get_visitor(request), shelf)
    fresh = {name: part for name, part in made.items() if f"part-{name}:{part.mark}" not in there}
    return render_page(request, "run_parts.html", headers=headers, parts=fresh)


@page("/runs/{run_id:str}/reports/{form:str}")
async def report(desk: AtDesk, run_id: str, form: str) -> Response[bytes]:
    """Serve a report; the headers sandbox it, as in the API."""
    run = desk.find_run(run_id)
    name = find_report(form)
    if name is None:
        raise Refused(404, "there is no such report", next_=f"one of: {', '.join(REPORT_NAMES)}")
    made = await asyncio.to_thread(render_report, run, name)  # a large one takes seconds
    return Response(made, media_type=_display_type(content_type(name)))


def _display_type(kind: str) -> str:
    """Return a content type that browsers show instead of downloading the file."""
    if kind.endswith("+json"):
        return "application/json"
    return "text/plain" if kind == "text/markdown" else kind


@page("/runs/{run_id:str}/files/{name:path}")
async def file(desk: AtDesk, run_id: str, name: str) -> Response[bytes]:
    """Serve evidence, transcripts and plans as plain text."""
    run = desk.find_run(run_id)
    found = read_artifact(desk.home, run.id, name.removeprefix("/"))
    if found is None:
        raise Refused(
            404, f"run {run.id} has no such file", next_="its page names those that there are"
        )
    return Response(found, media_type="text/plain")


ROUTES = (run_page, run_parts, report, file)
