"""The page of one run, whole and in the parts that change while it goes on; and its papers."""

import asyncio

from litestar import Response
from litestar.di import NamedDependency

from punchlist.app.after.reports import REPORT_NAMES, find_report, render_report
from punchlist.app.report_formats import content_type
from punchlist.web.api.artifacts import content
from punchlist.web.api.routes import AtDesk
from punchlist.web.pages.rendering import shown
from punchlist.web.pages.routes import Asking, page, visitor_of
from punchlist.web.pages.run.board import PROOFS, asked_for
from punchlist.web.pages.run.parts import Shelf, look, parts
from punchlist.web.pages.words import link
from punchlist.web.problem import Refused

AtShelf = NamedDependency[Shelf]
_FORM = "filters"


@page("/runs/{run_id:str}")
async def run_page(request: Asking, desk: AtDesk, shelf: AtShelf, run_id: str) -> Response[str]:
    here = look(desk, run_id, dict(request.query_params))
    made = parts(here, visitor_of(request), shelf)
    return shown(
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
    """The parts as they are now, but for those that the browser says it has."""
    here = look(desk, run_id, dict(request.query_params))
    typed = request.headers.get("hx-trigger") == _FORM
    headers = (
        {"hx-replace-url": link(f"/runs/{here.run.id}", **asked_for(here.filters))} if typed else {}
    )
    there = request.headers.get("x-parts", "").split()
    made = parts(here, visitor_of(request), shelf)
    fresh = {name: part for name, part in made.items() if f"part-{name}:{part.mark}" not in there}
    return shown(request, "run_parts.html", headers=headers, parts=fresh)


@page("/runs/{run_id:str}/reports/{form:str}")
async def report(desk: AtDesk, run_id: str, form: str) -> Response[bytes]:
    """In a sandbox of its own, as the API gives it."""
    run = desk.run(run_id)
    name = find_report(form)
    if name is None:
        raise Refused(404, "there is no such report", next_=f"one of: {', '.join(REPORT_NAMES)}")
    made = await asyncio.to_thread(render_report, run, name)  # a large one takes seconds
    return Response(made, media_type=_shown_as(content_type(name)))


def _shown_as(kind: str) -> str:
    """Return a content type that browsers show instead of downloading the file."""
    if kind.endswith("+json"):
        return "application/json"
    return "text/plain" if kind == "text/markdown" else kind


@page("/runs/{run_id:str}/files/{name:path}")
async def file(desk: AtDesk, run_id: str, name: str) -> Response[bytes]:
    """Evidence, transcripts, plans: shown as text, whatever is in them."""
    run = desk.run(run_id)
    found = content(desk.home, run.id, name.removeprefix("/"))
    if found is None:
        raise Refused(
            404, f"run {run.id} has no such file", next_="its page names those that there are"
        )
    return Response(found, media_type="text/plain")


ROUTES = (run_page, run_parts, report, file)
