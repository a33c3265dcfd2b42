"""Decorators that declare pages: required role, cookie session, same-origin forms."""

from typing import Any
from urllib.parse import urlsplit

from litestar import get, post
from litestar.handlers.base import BaseRouteHandler

from punchlist.app.access import Role
from punchlist.web.api.routes import OPEN, Connection, Route, require_role
from punchlist.web.problem import Refused
from punchlist.web.security.tokens import Visitor

_LARGEST_FORM = 1024 * 1024
"""Bytes of a form. It is read in one go: while a larger one is read, all other requests wait."""
_LARGEST_OPEN_FORM = 64 * 1024


def guard_page(connection: Connection, handler: BaseRouteHandler) -> None:
    """Guard of every page: check origin and role. Only the cookie counts, no token in a header."""
    if connection.scope.get("method") == "POST":
        _check_origin(connection)
    needed = handler.opt.get("role")
    if needed != OPEN:
        require_role(get_visitor(connection), needed)


def _check_origin(connection: Connection) -> None:
    """Refuse other origins; a browser counts other ports of this host as the same site."""
    origins, hosts = connection.headers.getall("origin", []), connection.headers.getall("host", [])
    if (
        len(origins) != 1
        or len(hosts) != 1
        or origin_host(origins[0]).lower() != hosts[0].lower()
        or not hosts[0]
    ):
        raise Refused(
            403,
            "this was not sent by a page of this server",
            "open the page again, and try again there",
        )


def origin_host(origin: str) -> str:
    """Return host and port of an http or https origin, or ""."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return parts.netloc if parts.scheme in ("http", "https") else ""


def get_visitor(connection: Connection) -> Visitor:
    visitor = connection.scope.get("user")
    if not isinstance(visitor, Visitor):
        raise Refused(401, "you are not signed in", "sign in with a token")
    return visitor


def page(path: str, role: Role | str = Role.READ, **more: Any) -> Route:
    return get(path, opt={"role": role}, guards=[guard_page], **more)


def open_page(path: str, **more: Any) -> Route:
    return page(path, OPEN, **more)


def form_page(
    path: str, role: Role | str = Role.RUN, largest: int = _LARGEST_FORM, **more: Any
) -> Route:
    """Declare a form that changes something; it answers with a redirect."""
    return post(
        path,
        opt={"role": role},
        guards=[guard_page],
        status_code=200,
        request_max_body_size=largest,
        **more,
    )


def open_form(path: str, **more: Any) -> Route:
    return form_page(path, OPEN, _LARGEST_OPEN_FORM, **more)
