"""The web application: all routes behind the gate, all errors in one format."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from litestar import Litestar, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from punchlist._version import __version__
from punchlist.errors import PunchlistError
from punchlist.web.api import fleet, hooks, read, repositories, runs
from punchlist.web.api.fix_sessions import routes as fix_sessions
from punchlist.web.api.openapi import build_document
from punchlist.web.api.routes import AnyRequest, share
from punchlist.web.gate import Gate, Rules
from punchlist.web.pages.rendering import is_page, load_templates, render_problem
from punchlist.web.pages.router import build_router
from punchlist.web.problem import Problem, Refused, make_problem, retry_headers
from punchlist.web.schemas import LARGEST_BODY
from punchlist.web.security.sessions import Sessions
from punchlist.web.state import WebSession

_log = logging.getLogger("punchlist")
_ROUTES = (*repositories.ROUTES, *fleet.ROUTES, *runs.ROUTES, *read.ROUTES, *fix_sessions.ROUTES)
_NEXT = "GET /api/openapi.json says what is there and what it takes"


def build_site(app: WebSession, entrance: Sessions, rules: Rules) -> Gate:
    return Gate(build_application(app, entrance), entrance.tokens, rules, app.hide, entrance)


def build_application(app: WebSession, entrance: Sessions) -> Litestar:
    """Build the application; without the gate only open routes answer."""

    @asynccontextmanager
    async def lifespan(_: Litestar) -> AsyncIterator[None]:
        going = asyncio.create_task(app.resume_left(app.left))
        cleaning = asyncio.create_task(app.clean_results())
        answering = asyncio.create_task(app.pulls.work())
        preparing = asyncio.create_task(asyncio.to_thread(load_templates))
        yield
        going.cancel()
        cleaning.cancel()
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
        await preparing
        await app.close()

    return Litestar(
        route_handlers=[_api_router(), fleet.metrics, hooks.hook, build_router(app)],
        dependencies={"app": share(app), "entrance": share(entrance)},
        exception_handlers={
            Refused: _handle_refusal,
            PunchlistError: _handle_error,
            HTTPException: _handle_http,
            RecursionError: _handle_nesting,
            Exception: _handle_crash,
        },
        openapi_config=None,
        state=State({"document": load_openapi}),
        request_max_body_size=LARGEST_BODY,
        lifespan=[lifespan],
        debug=False,
    )


@cache
def load_openapi() -> dict[str, Any]:
    """Return the OpenAPI document, made by an application without pages."""
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
    dependencies = {"app": Provide(_no_session)}
    return build_document(
        Litestar([_api_router()], openapi_config=config, dependencies=dependencies)
    )


def _api_router() -> Router:
    return Router("/api", route_handlers=list(_ROUTES))


async def _no_session() -> WebSession:
    raise NotImplementedError


def _request_line(request: AnyRequest) -> str:
    return f"{request.method} {request.url.path}"


def _make_response(
    request: AnyRequest, problem: Problem, headers: dict[str, str] | None = None
) -> Response[Any]:
    if is_page(request.url.path):
        return render_problem(request, problem)
    return Response(
        problem, status_code=problem.status, headers=headers or {}, media_type="application/json"
    )


def _handle_refusal(request: AnyRequest, error: Refused) -> Response[Any]:
    return _make_response(request, error.to_problem(_request_line(request)), error.headers)


def _handle_error(request: AnyRequest, error: PunchlistError) -> Response[Any]:
    problem = make_problem(error, _request_line(request))
    return _make_response(request, problem, retry_headers(error))


def _handle_http(request: AnyRequest, error: HTTPException) -> Response[Any]:
    """Answer the framework's errors: unknown paths, wrong methods, bad bodies."""
    what = error.detail
    if isinstance(error, ValidationException) and isinstance(error.extra, list):
        faults = [each for each in error.extra if isinstance(each, dict)]
        what = "; ".join(f"{each.get('key', 'body')}: {each.get('message', '')}" for each in faults)
        if _has_no_body(request) and any(each.get("key") == "data" for each in faults):
            what = "the body is missing: a JSON object, {} at least"
    problem = Problem(
        status=error.status_code,
        what=what or error.detail,
        where=_request_line(request),
        next=_NEXT,
    )
    return _make_response(request, problem, dict(error.headers or {}))


def _has_no_body(request: AnyRequest) -> bool:
    return (
        "transfer-encoding" not in request.headers
        and request.headers.get("content-length", "0") == "0"
    )


def _handle_nesting(request: AnyRequest, _: RecursionError) -> Response[Any]:
    return _handle_refusal(request, Refused(400, "the body is nested too deeply", _NEXT))


def _handle_crash(request: AnyRequest, error: Exception) -> Response[Any]:
    """Log an unexpected error; the answer does not show it."""
    _log.error("%s failed", _request_line(request), exc_info=error)
    return _handle_refusal(
        request, Refused(500, "punchlist itself failed", "the server's log says why")
    )
