"""The application: all routes behind the gate, every error in one shape."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from litestar import Litestar, Request, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from punchlist._version import __version__
from punchlist.errors import PunchlistError
from punchlist.web.api import read as looks
from punchlist.web.api import repositories, runs
from punchlist.web.api.fix_sessions import routes as fixes
from punchlist.web.api.openapi import document
from punchlist.web.gate import Gate, Rules
from punchlist.web.pages.rendering import is_page, prepare, refused
from punchlist.web.pages.router import router
from punchlist.web.problem import Problem, Refused, problem_of
from punchlist.web.schemas import LARGEST_BODY
from punchlist.web.security.sessions import Entrance
from punchlist.web.state import Desk

_log = logging.getLogger("punchlist")
_ROUTES = (*repositories.ROUTES, *runs.ROUTES, *looks.ROUTES, *fixes.ROUTES)
_NEXT = "GET /api/openapi.json says what is there and what it takes"


def site(desk: Desk, entrance: Entrance, rules: Rules) -> Gate:
    return Gate(application(desk, entrance), entrance.tokens, rules, desk.hide, entrance)


def application(desk: Desk, entrance: Entrance) -> Litestar:
    """Without the gate nobody is known, and so nothing but the open routes answers."""

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        going = asyncio.create_task(desk.go_on(desk.left))
        preparing = asyncio.create_task(asyncio.to_thread(prepare))
        yield
        going.cancel()
        await preparing
        await desk.close()

    return Litestar(
        route_handlers=[_router(), router(desk)],
        dependencies={
            "desk": Provide(lambda: desk, sync_to_thread=False),
            "entrance": Provide(lambda: entrance, sync_to_thread=False),
        },
        exception_handlers={
            Refused: _refused,
            PunchlistError: _failed,
            HTTPException: _http,
            RecursionError: _too_deep,
            Exception: _broken,
        },
        openapi_config=None,
        state=State({"document": described}),
        request_max_body_size=LARGEST_BODY,
        lifespan=[lifespan],
        debug=False,
    )


@cache
def described() -> dict[str, Any]:
    """The OpenAPI document of all routes. It is made by an application that serves nothing, so that
    no other page comes along.
    """
    config = OpenAPIConfig(
        title="Punchlist",
        version=__version__,
        description=(
            "Sees every review finding through to an end. Every refusal is a Problem: what, where,"
            " and what to do next."
        ),
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}
        ),
        render_plugins=[],
        use_handler_docstrings=True,
    )
    return document(
        Litestar(
            route_handlers=[_router()],
            openapi_config=config,
            dependencies={"desk": Provide(_nobody)},
        )
    )


def _router() -> Router:
    return Router("/api", route_handlers=list(_ROUTES))


async def _nobody() -> Desk:
    raise NotImplementedError


def _where(request: Request[Any, Any, Any]) -> str:
    return f"{request.method} {request.url.path}"


def _answer(
    request: Request[Any, Any, Any], problem: Problem, headers: dict[str, str] | None = None
) -> Response[Any]:
    if is_page(request.url.path):
        return refused(request, problem)
    return Response(
        problem, status_code=problem.status, headers=headers or {}, media_type="application/json"
    )


def _refused(request: Request[Any, Any, Any], error: Refused) -> Response[Any]:
    return _answer(request, error.problem(_where(request)), error.headers)


def _failed(request: Request[Any, Any, Any], error: PunchlistError) -> Response[Any]:
    return _answer(request, problem_of(error, _where(request)))


def _http(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """What the framework refuses: unknown paths, wrong methods, bodies that are too large or not
    what they should be.
    """
    what = error.detail
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        told = [each for each in error.extra if isinstance(each, dict)]
        what = "; ".join(f"{each.get('key', 'body')}: {each.get('message', '')}" for each in told)
        if _bodiless(request) and any(each.get("key") == "data" for each in told):
            what = "the body is missing: a JSON object, {} at least"
    problem = Problem(
        status=error.status_code, what=what or error.detail, where=_where(request), next=_NEXT
    )
    return _answer(request, problem, dict(error.headers or {}))


def _bodiless(request: Request[Any, Any, Any]) -> bool:
    return (
        "transfer-encoding" not in request.headers
        and request.headers.get("content-length", "0") == "0"
    )


def _too_deep(request: Request[Any, Any, Any], _: RecursionError) -> Response[Any]:
    return _answer(
        request,
        Problem(
            status=400, what="the body is nested too deeply", where=_where(request), next=_NEXT
        ),
    )


def _broken(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The web's door: what nobody foresaw ends here, in the log and not in the answer."""
    _log.error("%s failed", _where(request), exc_info=error)
    return _answer(
        request,
        Problem(
            status=500,
            what="punchlist itself failed",
            where=_where(request),
            next="the server's log says why",
        ),
    )
