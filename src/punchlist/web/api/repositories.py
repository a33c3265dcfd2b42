"""Routes of the server itself and its registered repositories."""

from pathlib import Path
from typing import Annotated, Any

from litestar import Request
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.repositories import RepositoryEntry
from punchlist.web.api.routes import AtDesk, delete_route, open_route, post_route, read_route
from punchlist.web.problem import Refused
from punchlist.web.schemas import IDENTIFIER, Health, Registering, RepositoryPart

Named = Annotated[str, PathParameter(pattern=IDENTIFIER, description="The repository's id.")]


@open_route("/health", operation_id="health", summary="Whether the server is there")
async def health() -> Health:
    return Health(__version__)


@open_route(
    "/openapi.json",
    operation_id="openapi",
    summary="This document",
    responses={200: ResponseSpec(dict[str, Any])},
)
async def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = request.app.state.document()
    return found


@read_route("/repositories", operation_id="repositories", summary="The registered repositories")
async def list_repositories(desk: AtDesk) -> tuple[RepositoryPart, ...]:
    return tuple(map(_make_part, desk.repositories.list_all()))


@post_route(
    "/repositories",
    Role.ADMIN,
    status_code=201,
    operation_id="register",
    summary="Register a repository of this machine",
)
async def register(desk: AtDesk, data: JSONBody[Registering]) -> RepositoryPart:
    if "\0" in data.path:
        raise Refused(
            400, "that is no path", next_="give the whole path of a git repository on this machine"
        )
    return _make_part(await desk.repositories.register(Path(data.path)))


@delete_route(
    "/repositories/{repository_id:str}",
    operation_id="forget",
    summary="Work on a repository no more; its runs are kept",
)
async def forget(desk: AtDesk, repository_id: Named) -> None:
    desk.find_repository(repository_id)
    desk.repositories.forget(repository_id)


def _make_part(repository: RepositoryEntry) -> RepositoryPart:
    return RepositoryPart(id=repository.id, name=repository.name, root=repository.root)


ROUTES = (health, openapi, list_repositories, register, forget)
