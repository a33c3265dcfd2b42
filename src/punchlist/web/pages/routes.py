"""How pages are declared: each with the role it wants; known by a cookie, and changed only by our
own pages.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from litestar import Request, get, post
from litestar.connection import ASGIConnection
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler

from punchlist.app.access import Role
from punchlist.web.problem import Refused
from punchlist.web.security.tokens import Visitor

Door = Callable[[Callable[..., Any]], HTTPRouteHandler]
Asking = Request[Any, Any, Any]
_OPEN = "open"
_LARGEST_FORM = 1024 * 1024
"""Bytes of what people type. A form is read in one go: a larger one would keep everybody waiting.
"""
_LARGEST_OPEN_FORM = 64 * 1024


def may_enter(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """The guard of every page. A token in a header opens no page, and a cookie opens nothing but
    pages.
    """
    if connection.scope.get("method") == "POST":
        _from_our_page(connection)
    needed = handler.opt.get("role")
    if needed == _OPEN:
        return
    visitor = connection.scope.get("user")
    if not isinstance(visitor, Visitor):
        raise Refused(401, "you are not signed in", next_="sign in with a token")
    if not isinstance(needed, Role) or not visitor.role.may(needed):
        raise Refused(
            403,
            f"the role {visitor.role} may not do this",
            next_=f"it takes a token with the role {needed}",
        )


def _from_our_page(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Other ports of this machine are the same site to a browser, and their pages would bring the
    cookie along.
    """
    origins, hosts = connection.headers.getall("origin", []), connection.headers.getall("host", [])
    try:
        parts = [urlsplit(origin) for origin in origins]
    except ValueError:
        parts = []
    if (
        len(parts) != 1
        or len(hosts) != 1
        or parts[0].scheme not in ("http", "https")
        or parts[0].netloc.lower() != hosts[0].lower()
    ):
        raise Refused(
            403,
            "this was not sent by a page of this server",
            next_="open the page again, and try again there",
        )


def visitor_of(request: Asking) -> Visitor:
    found = request.scope.get("user")
    if not isinstance(found, Visitor):
        raise Refused(401, "you are not signed in", next_="sign in with a token")
    return found


def _declared(role: Role | str, more: dict[str, Any]) -> dict[str, Any]:
    return {"opt": {"role": role}, "guards": [may_enter], "include_in_schema": False, **more}


def page(path: str | list[str], role: Role = Role.READ, **more: Any) -> Door:
    return get(path, **_declared(role, more))


def open_page(path: str, **more: Any) -> Door:
    return get(path, **_declared(_OPEN, more))


def acting(path: str, role: Role = Role.RUN, **more: Any) -> Door:
    """A form that changes something; it answers with a redirect to a page."""
    return post(
        path,
        **_declared(role, {"status_code": 200, "request_max_body_size": _LARGEST_FORM, **more}),
    )


def open_form(path: str, **more: Any) -> Door:
    return post(
        path,
        **_declared(
            _OPEN, {"status_code": 200, "request_max_body_size": _LARGEST_OPEN_FORM, **more}
        ),
    )
