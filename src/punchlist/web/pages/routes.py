"""Decorators that declare pages: required role, cookie session, same-origin forms."""

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


def guard_page(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Guard of every page: checks origin and role. Only the session cookie counts, no token in a
    header.
    """
    if connection.scope.get("method") == "POST":
        _check_origin(connection)
    needed = handler.opt.get("role")
    if needed == _OPEN:
        return
    visitor = connection.scope.get("user")
    if not isinstance(visitor, Visitor):
        raise Refused(401, "you are not signed in", next_="sign in with a token")
    if not isinstance(needed, Role) or not visitor.role.includes(needed):
        raise Refused(
            403,
            f"the role {visitor.role} may not do this",
            next_=f"it takes a token with the role {needed}",
        )


def _check_origin(connection: ASGIConnection[Any, Any, Any, Any]) -> None:
    """Raise Refused unless Origin is this host and port: to a browser other ports are the same
    site.
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


def get_visitor(request: Asking) -> Visitor:
    found = request.scope.get("user")
    if not isinstance(found, Visitor):
        raise Refused(401, "you are not signed in", next_="sign in with a token")
    return found


def _route_options(role: Role | str, more: dict[str, Any]) -> dict[str, Any]:
    return {"opt": {"role": role}, "guards": [guard_page], "include_in_schema": False, **more}


def page(path: str | list[str], role: Role = Role.READ, **more: Any) -> Door:
    return get(path, **_route_options(role, more))


def open_page(path: str, **more: Any) -> Door:
    return get(path, **_route_options(_OPEN, more))


def form_page(path: str, role: Role = Role.RUN, **more: Any) -> Door:
    """Declare a form that changes something; it answers with a redirect."""
    return post(
        path,
        **_route_options(
            role, {"status_code": 200, "request_max_body_size": _LARGEST_FORM, **more}
        ),
    )


def open_form(path: str, **more: Any) -> Door:
    return post(
        path,
        **_route_options(
            _OPEN, {"status_code": 200, "request_max_body_size": _LARGEST_OPEN_FORM, **more}
        ),
    )
