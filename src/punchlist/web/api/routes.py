"""Declare routes with the role they need and their errors; a route without a role is closed."""

from collections.abc import Callable
from typing import Any

from litestar import Request, delete, get, post, put
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from punchlist.app.access import Role
from punchlist.web.problem import Problem, Refused
from punchlist.web.security.tokens import Visitor
from punchlist.web.state import WebSession

_REFUSALS = {
    400: "The request is not understood.",
    401: "No token, or one that is not known.",
    403: "The token's role may not do this, or the page is from elsewhere.",
    404: "There is no such thing.",
    405: "Not in this way.",
    409: (
        "Something stands in the way: the same is under way, or the repository is not in a state"
        " for it."
    ),
    413: "The body is too large.",
    415: "The body is of another kind.",
    421: "The server does not go by that name.",
    422: "The idempotency key was used for another request.",
    429: "Too many requests.",
    500: "A fault in punchlist itself.",
    502: "A tool could not do its work.",
    503: "The ledger cannot be read or written.",
}
_OPEN = "open"
_JSON = "application/json"
AtDesk = NamedDependency[WebSession]
Door = Callable[[Callable[..., Any]], HTTPRouteHandler]


def guard_role(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Guard of every route: refuse a request without a token, or of a lower role."""
    needed = handler.opt.get("role")
    if needed == _OPEN:
        return
    visitor = connection.scope.get("auth")
    if not isinstance(visitor, Visitor):
        raise Refused(
            401,
            "this needs a token",
            next_='send "Authorization: Bearer TOKEN"; punchlist serve --new-token run makes one',
            headers={"www-authenticate": "Bearer"},
        )
    if not isinstance(needed, Role) or not visitor.role.includes(needed):
        raise Refused(
            403,
            f"the role {visitor.role} may not do this",
            next_=f"it takes a token with the role {needed}",
        )


def guard_json(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Guard of every route with a body: refuse a content type other than JSON."""
    said = connection.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    if (
        isinstance(handler, HTTPRouteHandler)
        and handler.parsed_data_field is not None
        and said != _JSON
    ):
        raise Refused(415, "the body must be JSON", next_=f"send it as {_JSON}")


def require_visitor(request: Request[Any, Any, Any]) -> Visitor:
    found = request.scope["auth"]
    if not isinstance(found, Visitor):
        raise Refused(401, "this needs a token")
    return found


def access_checker(connection: ASGIConnection[Any, Any, Any, Any]) -> Callable[[], bool]:
    """Return a function that says whether the client is still admitted."""
    still = connection.scope.get("welcome")
    return lambda: bool(callable(still) and still())


def _route_options(role: Role | str, more: dict[str, Any]) -> dict[str, Any]:
    refusals = {
        status: ResponseSpec(data_container=Problem, description=text)
        for status, text in _REFUSALS.items()
    }
    security: dict[str, Any] = {} if role == _OPEN else {"security": [{"token": []}]}
    return {
        "opt": {"role": role},
        "guards": [guard_role, guard_json],
        "responses": {**refusals, **more.pop("responses", {})},
        **security,
        **more,
    }


def read_route(path: str, **more: Any) -> Door:
    return get(path, **_route_options(Role.READ, more))


def open_route(path: str, **more: Any) -> Door:
    return get(path, **_route_options(_OPEN, more))


def post_route(path: str, role: Role = Role.RUN, **more: Any) -> Door:
    return post(path, **_route_options(role, {"status_code": 200, **more}))


def put_route(path: str, role: Role = Role.RUN, **more: Any) -> Door:
    return put(path, **_route_options(role, more))


def delete_route(path: str, role: Role = Role.ADMIN, **more: Any) -> Door:
    return delete(path, **_route_options(role, more))
