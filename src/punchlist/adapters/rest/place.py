"""A repository on a forge, and the connection to it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.client import RestClient, check_api_url
from punchlist.adapters.rest.remote import parse_name, parse_remote, read_origin
from punchlist.adapters.rest.retry import Pacing
from punchlist.adapters.rest.style import ApiStyle


class ForgePlace(Struct, frozen=True, kw_only=True):
    """An empty `repository` means that of the remote `origin`."""

    style: ApiStyle
    token: Callable[[str], Awaitable[str]]
    """Returns the token for a host; called for each connection, and never stored."""
    git: Git
    api: str
    repository: str = ""

    @property
    def host(self) -> str:
        """The host of the repository's page; raises Unavailable if the API's address is none."""
        return self.style.web_host(check_api_url(self.style, self.api))

    @asynccontextmanager
    async def connect(self, pacing: Pacing) -> AsyncIterator[tuple[RestClient, str]]:
        """Lend a connection; with it comes the repository's name."""
        api = check_api_url(self.style, self.api)
        if self.repository:
            below = self.style.web_path(api).strip("/")
            name = self.repository.removeprefix(f"{below}/" if below else "")
            repository = parse_name(name, self.style)
        else:
            repository = parse_remote(await read_origin(self.git), self.style, api)
        token = await self.token(self.style.web_host(api))
        async with RestClient(self.style, self.api, token, pacing) as rest:
            yield rest, repository
