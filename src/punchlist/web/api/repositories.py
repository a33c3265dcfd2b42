"""Routes of the server itself and its registered repositories."""

from pathlib import Path
from typing import Annotated, Any

from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter, QueryParameter

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.after.trends import RUNS
from punchlist.app.repositories import RepositoryEntry
from punchlist.views.tables.trends import Trends
from punchlist.web.api.routes import (
    AnyRequest,
    App,
    delete_route,
    open_route,
    post_route,
    read_route,
)
from punchlist.web.problem import Refused
from punchlist.web.schemas import IDENTIFIER, Health, Registering, RepositoryPart

Named = Annotated[str, PathParameter(pattern=IDENTIFIER, description="The repository's id.")]


@open_route("/health", "Whether the server is there")
async def health() -> Health:
    return Health(__version__)


@open_route("/openapi.json", "This document", responses={200: ResponseSpec(dict[str, Any])})
async def openapi(request: AnyRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.app.state.document()
    return found


@read_route("/repositories", "The registered repositories")
async def repositories(app: App) -> tuple[RepositoryPart, ...]:
    return tuple(map(_make_part, app.repositories.list_all()))


@post_route("/repositories", "Register a repository of this machine", Role.ADMIN, status_code=201)
async def register(app: App, data: JSONBody[Registering]) -> RepositoryPart:
    if "\0" in data.path:
        raise Refused(
            400, "that is no path", "give the whole path of a git repository on this machine"
        )
    return _make_part(await app.repositories.register(Path(data.path)))


@delete_route(
    "/repositories/{repository_id:str}", "Work on a repository no more; its runs are kept"
)
async def forget(app: App, repository_id: Named) -> None:
    app.find_repository(repository_id)
    app.repositories.forget(repository_id)


@read_route("/repositories/{repository_id:str}/trends", "What became of the items of each run")
async def trends(
    app: App, repository_id: Named, limit: Annotated[int, QueryParameter(ge=1, le=1000)] = RUNS
) -> Trends:
    """The latest runs, oldest first; with what agents claimed, and how often it was refuted."""
    return await app.load_trends(app.find_repository(repository_id), limit)


def _make_part(repository: RepositoryEntry) -> RepositoryPart:
    return RepositoryPart(id=repository.id, name=repository.name, root=repository.root)


ROUTES = (health, openapi, repositories, register, forget, trends)
