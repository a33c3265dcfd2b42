"""Render templates: all text is escaped, unknown names are errors."""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response
from litestar.datastructures import URL
from litestar.response import Redirect

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.after.reports import OFFERED
from punchlist.views.escaping import escape_controls
from punchlist.web.api.routes import AnyRequest
from punchlist.web.pages import words
from punchlist.web.pages.assets import asset_url
from punchlist.web.problem import Problem
from punchlist.web.security.tokens import Visitor

_TEMPLATES = Path(__file__).with_name("templates")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src"
    " 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # with less, browsers would not say where a form comes from
    "vary": "HX-Request, Cookie",
}
_UNKNOWN = 401
_FILTERS = "filters"
"""Id of the form with filters."""


def render_page(
    request: AnyRequest,
    template: str,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response[str]:
    """Return a page for this request; `values` go to the template."""
    user = request.scope.get("user")
    visitor = user if isinstance(user, Visitor) else None
    html = render_template(template, visitor=visitor, path=request.url.path, **values)
    headers = {**HEADERS, **(headers or {})}
    return Response(html, status_code=status, media_type="text/html", headers=headers)


def render_template(
    template: str, *, visitor: Visitor | None = None, path: str = "/", **values: Any
) -> str:
    """Return the HTML; `may` tells the template what the visitor's role allows."""
    may = {role.value: visitor is not None and visitor.role.includes(role) for role in Role}
    page = load_environment().get_template(template)
    text = page.render(visitor=visitor, may=may, path=path, version=__version__, **values)
    return text.encode("utf-8", "replace").decode()


def redirect(request: AnyRequest, path: str) -> Response[Any]:
    """Redirect to a page; an htmx request gets the header that moves the whole page."""
    if is_htmx(request):
        return Response(None, status_code=200, headers={**HEADERS, "hx-redirect": path})
    return Redirect(path, status_code=303, headers=HEADERS)


def replace_url(request: AnyRequest, path: str, query: dict[str, Any]) -> dict[str, str]:
    """Return the header that shows the query in the address bar, if a user has changed filters."""
    if request.headers.get("hx-trigger") != _FILTERS:
        return {}
    return {"hx-replace-url": words.link(path, **query)}


def render_problem(request: AnyRequest, problem: Problem) -> Response[Any]:
    """Return the problem as a page or part; a visitor without a session is sent to sign in."""
    unknown = problem.status == _UNKNOWN
    if unknown and request.method == "GET" and not is_htmx(request):
        return redirect(request, words.link("/sign-in", next=_join_query(request.url)))
    sign_in = words.link("/sign-in", next=_browser_path(request))
    headers = {"hx-redirect": sign_in} if unknown else {}
    template = "problem_part.html" if is_htmx(request) else "problem.html"
    return render_page(request, template, problem.status, headers, problem=problem)


def is_page(path: str) -> bool:
    """Return whether the path is a page: neither below /api or /hooks, nor the metrics."""
    return path.strip("/").partition("/")[0] not in ("api", "hooks", "metrics")


def is_htmx(request: AnyRequest) -> bool:
    return request.headers.get("hx-request") == "true"


def _join_query(url: URL | SplitResult) -> str:
    return f"{url.path}?{url.query}" if url.query else url.path


def _browser_path(request: AnyRequest) -> str:
    """Return the path of the page that the htmx request comes from, or ""."""
    try:
        return _join_query(urlsplit(request.headers.get("hx-current-url", "")))
    except ValueError:
        return ""


@cache
def load_environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: escape_controls(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    made.globals.update(asset=asset_url, link=words.link, reports=OFFERED)
    return made


def load_templates() -> None:
    """Compile all templates, so that the first request need not wait."""
    environment = load_environment()
    for name in environment.list_templates():
        environment.get_template(name)
