"""Render templates: all text is escaped, unknown names are errors."""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response
from litestar.response import Redirect

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.after.reports import OFFERED
from punchlist.views.escaping import escape_controls
from punchlist.web.pages import words
from punchlist.web.pages.assets import asset_url
from punchlist.web.pages.routes import Asking
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


def render_page(
    request: Asking,
    template: str,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response[str]:
    """Return a page for this request; `values` go to the template."""
    html = render_template(
        template, visitor=_find_visitor(request), path=request.url.path, **values
    )
    return Response(
        html, status_code=status, media_type="text/html", headers={**HEADERS, **(headers or {})}
    )


def render_template(
    template: str, *, visitor: Visitor | None = None, path: str = "/", **values: Any
) -> str:
    """Return the HTML; `may` tells the template what the visitor's role allows."""
    may = {role.value: visitor is not None and visitor.role.includes(role) for role in Role}
    text = (
        load_environment()
        .get_template(template)
        .render(visitor=visitor, may=may, path=path, version=__version__, **values)
    )
    return text.encode("utf-8", "replace").decode()


def redirect(request: Asking, path: str) -> Response[Any]:
    """Redirect to a page; an htmx request gets the header that moves the whole page."""
    if is_htmx(request):
        return Response(None, status_code=200, headers={**HEADERS, "hx-redirect": path})
    return Redirect(path, status_code=303, headers=HEADERS)


def render_problem(request: Asking, problem: Problem) -> Response[Any]:
    """Return the problem as a page or part; a visitor without a session is sent to sign in."""
    if problem.status == _UNKNOWN and request.method == "GET" and not is_htmx(request):
        return redirect(request, words.link("/sign-in", next=_request_path(request)))
    headers = (
        {"hx-redirect": words.link("/sign-in", next=_browser_path(request))}
        if problem.status == _UNKNOWN
        else {}
    )
    if is_htmx(request):
        return render_page(request, "problem_part.html", problem.status, headers, problem=problem)
    return render_page(request, "problem.html", problem.status, headers, problem=problem)


def is_page(path: str) -> bool:
    """Return whether the path is a page, not below /api."""
    return path.strip("/").partition("/")[0] != "api"


def is_htmx(request: Asking) -> bool:
    return request.headers.get("hx-request") == "true"


def _request_path(request: Asking) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _browser_path(request: Asking) -> str:
    """Return the path of the page that the htmx request comes from, or ""."""
    try:
        parts = urlsplit(request.headers.get("hx-current-url", ""))
    except ValueError:
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _find_visitor(request: Asking) -> Visitor | None:
    found = request.scope.get("user")
    return found if isinstance(found, Visitor) else None


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
    for name in load_environment().list_templates():
        load_environment().get_template(name)
