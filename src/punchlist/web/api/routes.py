"""Declare routes with the role they need and their errors; a route without a role is closed."""

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

from litestar import Request, delete, get, post, put
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency, Provide
from litestar.handlers import HTTPRouteHandler
from litestar.handlers.base import BaseRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from punchlist.app.access import Role
from punchlist.web.problem import Problem, Refused
from punchlist.web.security.tokens import Visitor
from punchlist.web.state import WebSession

OPEN = "open"
_JSON = "application/json"
App = NamedDependency[WebSession]
AnyRequest = Request[Any, Any, Any]
Connection = ASGIConnection[Any, Any, Any, Any]
Route = Callable[[Callable[..., Any]], HTTPRouteHandler]


def guard_role(connection: Connection, handler: BaseRouteHandler) -> None:
    """Guard of every route: refuse a request without a token, or of a lower role."""
    needed = handler.opt.get("role")
    if needed != OPEN:
        require_role(require_visitor(connection), needed)


def require_role(visitor: Visitor, needed: object) -> None:
    if not isinstance(needed, Role) or not visitor.role.includes(needed):
        raise Refused(
            403,
            f"the role {visitor.role} may not do this",
            f"it takes a token with the role {needed}",
        )


def guard_json(connection: Connection, handler: BaseRouteHandler) -> None:
    """Guard of every route with a body: refuse a content type other than JSON."""
    kind = connection.headers.get("content-type", _JSON).partition(";")[0].strip().lower()
    has_body = isinstance(handler, HTTPRouteHandler) and handler.parsed_data_field is not None
    if has_body and kind != _JSON:
        raise Refused(415, "the body must be JSON", f"send it as {_JSON}")


def require_visitor(connection: Connection) -> Visitor:
    visitor = connection.scope.get("auth")
    if not isinstance(visitor, Visitor):
        raise Refused(
            401,
            "this needs a token",
            'send "Authorization: Bearer TOKEN"; `punchlist serve --new-token run` makes one',
            headers={"www-authenticate": "Bearer"},
        )
    return visitor


def access_checker(connection: Connection) -> Callable[[], bool]:
    """Return a function that says whether the client is still admitted."""
    still = connection.scope.get("admitted")
    return lambda: bool(callable(still) and still())


@cache
def _load_refusals() -> dict[int, ResponseSpec]:
    texts = tomllib.loads((files(__package__) / "refusals.toml").read_text("utf-8"))
    return {int(status): ResponseSpec(Problem, description=text) for status, text in texts.items()}


def _route(method: Callable[..., Route], role: Role | str, path: str, **more: Any) -> Route:
    """Declare a route; the function's name is the id of the operation."""
    responses = {**_load_refusals(), **more.pop("responses", {})}
    if role != OPEN:
        more["security"] = [{"token": []}]

    def declare(function: Callable[..., Any]) -> HTTPRouteHandler:
        return method(
            path,
            operation_id=function.__name__,
            opt={"role": role},
            guards=[guard_role, guard_json],
            responses=responses,
            **more,
        )(function)

    return declare


def share(value: object) -> Provide:
    """Give the same object to every handler that asks for it."""
    return Provide(lambda: value, sync_to_thread=False)


def read_route(path: str, summary: str, **more: Any) -> Route:
    return _route(get, Role.READ, path, summary=summary, **more)


def open_route(path: str, summary: str, **more: Any) -> Route:
    return _route(get, OPEN, path, summary=summary, **more)


def post_route(path: str, summary: str, role: Role = Role.RUN, **more: Any) -> Route:
    return _route(post, role, path, summary=summary, **{"status_code": 200, **more})


def put_route(path: str, summary: str) -> Route:
    return _route(put, Role.RUN, path, summary=summary)


def delete_route(path: str, summary: str) -> Route:
    return _route(delete, Role.ADMIN, path, summary=summary)
