"""The page of one run, its parts for htmx, its reports and files."""

from typing import Any

from litestar import Response
from litestar.datastructures import Cookie
from litestar.di import NamedDependency

from punchlist.app.after.reports import content_type
from punchlist.web.api.artifacts import read_artifact
from punchlist.web.api.read import make_report_file
from punchlist.web.api.routes import AnyRequest, App
from punchlist.web.pages.rendering import redirect, render_page, replace_url
from punchlist.web.pages.routes import get_visitor, page
from punchlist.web.pages.run.board import PROOFS
from punchlist.web.pages.run.parts import PartCache, load_view, render_parts
from punchlist.web.pages.run.table import COOKIE, Layout, remember_layout
from punchlist.web.pages.words import link
from punchlist.web.problem import Refused

Cache = NamedDependency[PartCache]
_REMEMBERED = 365 * 86400


@page("/runs/{run_id:str}")
async def run_page(request: AnyRequest, app: App, cache: Cache, run_id: str) -> Response[Any]:
    query = dict(request.query_params)
    here = load_view(app, run_id, query, request.cookies.get(COOKIE, ""))
    if query.get("remember"):
        answer = redirect(request, link(f"/runs/{here.run.id}", **here.query))
        answer.set_cookie(_remember(here.layout))
        return answer
    made = render_parts(here, get_visitor(request), cache)
    return render_page(
        request,
        "run.html",
        parts=made,
        proofs=PROOFS,
        run=here.run,
        head=here.head,
        filters=here.filters,
        layout=here.layout,
        query=here.query,
    )


def _remember(layout: Layout) -> Cookie:
    return Cookie(
        COOKIE, value=remember_layout(layout), max_age=_REMEMBERED, httponly=True, samesite="strict"
    )


@page("/runs/{run_id:str}/parts")
async def run_parts(request: AnyRequest, app: App, cache: Cache, run_id: str) -> Response[str]:
    """Return the parts that differ from those the browser has."""
    query, kept = dict(request.query_params), request.cookies.get(COOKIE, "")
    here = load_view(app, run_id, query, kept)
    headers = replace_url(request, f"/runs/{here.run.id}", here.query)
    there = request.headers.get("x-parts", "").split()
    made = render_parts(here, get_visitor(request), cache)
    fresh = {name: part for name, part in made.items() if f"part-{name}:{part.mark}" not in there}
    return render_page(request, "run_parts.html", headers=headers, parts=fresh)


@page("/runs/{run_id:str}/reports/{form:str}")
async def report(app: App, run_id: str, form: str) -> Response[bytes]:
    """Serve a report; the headers sandbox it, as in the API."""
    name, content = await make_report_file(app.find_run(run_id), form)
    return Response(content, media_type=_display_type(content_type(name)))


def _display_type(kind: str) -> str:
    """Return a content type that browsers show instead of downloading the file."""
    if kind.endswith("+json"):
        return "application/json"
    return "text/plain" if kind == "text/markdown" else kind


@page("/runs/{run_id:str}/files/{name:path}")
async def file(app: App, run_id: str, name: str) -> Response[bytes]:
    """Serve evidence, transcripts and plans as plain text."""
    run = app.find_run(run_id)
    found = await read_artifact(app.session.recorded_artifacts(run), name.removeprefix("/"))
    if found is None:
        raise Refused(404, f"run {run.id} has no such file", "its page names those that there are")
    return Response(found, media_type="text/plain")


ROUTES = (run_page, run_parts, report, file)
