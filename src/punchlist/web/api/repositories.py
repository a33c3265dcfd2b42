"""The routes about the server itself, and about which repositories it may work on."""

from pathlib import Path
from typing import Annotated, Any

from litestar import Request
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody, PathParameter

from punchlist._version import __version__
from punchlist.app.access import Role
from punchlist.app.repositories import Registered
from punchlist.web.api.routes import AtDesk, doing, looking, open_to_all, removing
from punchlist.web.problem import Refused
from punchlist.web.schemas import IDENTIFIER, Health, Registering, RepositoryPart

Named = Annotated[str, PathParameter(pattern=IDENTIFIER, description="The repository's id.")]


@open_to_all("/health", operation_id="health", summary="Whether the server is there")
async def health() -> Health:
    return Health(__version__)


@open_to_all(
    "/openapi.json",
    operation_id="openapi",
    summary="This document",
    responses={200: ResponseSpec(dict[str, Any])},
)
async def openapi(request: Request[Any, Any, Any]) -> dict[str, Any]:
    found: dict[str, Any] = request.app.state.document()
    return found


@looking("/repositories", operation_id="repositories", summary="The registered repositories")
async def listed(desk: AtDesk) -> tuple[RepositoryPart, ...]:
    return tuple(map(_part, desk.repositories.all()))


@doing(
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
    return _part(await desk.repositories.register(Path(data.path)))


@removing(
    "/repositories/{repository_id:str}",
    operation_id="forget",
    summary="Work on a repository no more; its runs are kept",
)
async def forget(desk: AtDesk, repository_id: Named) -> None:
    desk.repository(repository_id)
    desk.repositories.forget(repository_id)


def _part(repository: Registered) -> RepositoryPart:
    return RepositoryPart(id=repository.id, name=repository.name, root=repository.root)


ROUTES = (health, openapi, listed, register, forget)
