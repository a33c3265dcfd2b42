"""Turns values into pages: text of others goes in only through escaping, and a name that is not
there is an error.
"""

from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response
from litestar.response import Redirect

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.report_formats import OFFERED
from punchlist.views.escaping import visible
from punchlist.web.pages import words
from punchlist.web.pages.assets import address
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


def shown(
    request: Asking,
    template: str,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response[str]:
    """A page for whoever asks; `values` are what its view is made of."""
    html = rendered(template, visitor=_visitor(request), path=request.url.path, **values)
    return Response(
        html, status_code=status, media_type="text/html", headers={**HEADERS, **(headers or {})}
    )


def rendered(
    template: str, *, visitor: Visitor | None = None, path: str = "/", **values: Any
) -> str:
    """`may` is what the visitor's role lets them do; what it does not is not offered."""
    may = {role.value: visitor is not None and visitor.role.may(role) for role in Role}
    text = (
        environment()
        .get_template(template)
        .render(visitor=visitor, may=may, path=path, version=__version__, **values)
    )
    return text.encode("utf-8", "replace").decode()


def onward(request: Asking, path: str) -> Response[Any]:
    """To another page, after something was done; a part of a page that asked is told to let the
    whole page go there.
    """
    if by_htmx(request):
        return Response(None, status_code=200, headers={**HEADERS, "hx-redirect": path})
    return Redirect(path, status_code=303, headers=HEADERS)


def refused(request: Asking, problem: Problem) -> Response[Any]:
    """What a page says that cannot be shown. Who is not signed in is sent to where one can."""
    if problem.status == _UNKNOWN and request.method == "GET" and not by_htmx(request):
        return onward(request, words.link("/sign-in", next=_here(request)))
    headers = (
        {"hx-redirect": words.link("/sign-in", next=_looked_at(request))}
        if problem.status == _UNKNOWN
        else {}
    )
    if by_htmx(request):
        return shown(request, "problem_part.html", problem.status, headers, problem=problem)
    return shown(request, "problem.html", problem.status, headers, problem=problem)


def is_page(path: str) -> bool:
    """Whether a person looks at the answer; programs ask below /api."""
    return path.strip("/").partition("/")[0] != "api"


def by_htmx(request: Asking) -> bool:
    return request.headers.get("hx-request") == "true"


def _here(request: Asking) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


def _looked_at(request: Asking) -> str:
    """The page whose part was asked for, as the browser says."""
    try:
        parts = urlsplit(request.headers.get("hx-current-url", ""))
    except ValueError:
        return ""
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _visitor(request: Asking) -> Visitor | None:
    found = request.scope.get("user")
    return found if isinstance(found, Visitor) else None


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(words.FILTERS)
    made.globals.update(asset=address, link=words.link, reports=OFFERED)
    return made


def prepare() -> None:
    """Reads all templates, so that whoever comes first does not wait for that."""
    for name in environment().list_templates():
        environment().get_template(name)
