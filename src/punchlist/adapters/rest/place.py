"""A repository on a forge, and the connection to it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from punchlist.adapters.git.command import Git
from punchlist.adapters.rest.client import RestClient, TokenRenewal, check_api_url
from punchlist.adapters.rest.github_app.app_key import AppKey
from punchlist.adapters.rest.github_app.git_login import make_git_login, takes_login
from punchlist.adapters.rest.github_app.installation import AppAccess, AppPlace
from punchlist.adapters.rest.github_app.permissions import ANSWERING, AppPermission
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
    app: AppKey | None = None
    """The GitHub App whose tokens are used in the place of `token`."""
    needed: tuple[AppPermission, ...] = ANSWERING
    """What its tokens must allow."""

    @property
    def host(self) -> str:
        """The host of the repository's page; raises Unavailable if the API's address is none."""
        return self.style.web_host(check_api_url(self.style, self.api))

    @asynccontextmanager
    async def connect(self, pacing: Pacing) -> AsyncIterator[tuple[RestClient, str]]:
        """Lend a connection; with it comes the repository's name."""
        api = check_api_url(self.style, self.api)
        repository = await self.find_repository()
        if self.app is None:
            token = await self.token(self.style.web_host(api))
            client = RestClient(self.style, self.api, token, pacing)
        else:
            access = self.open_app(self.app, pacing, repository)
            token, app = await access.read_token()
            renewal = TokenRenewal(access.renew, app)
            client = RestClient(self.style, self.api, token, pacing, renewal)
        async with client as rest:
            yield rest, repository

    async def find_repository(self) -> str:
        """Return the repository's name; raise Unavailable if none is known."""
        api = check_api_url(self.style, self.api)
        if not self.repository:
            return parse_remote(await read_origin(self.git), self.style, api)
        below = self.style.web_path(api).strip("/")
        name = self.repository.removeprefix(f"{below}/" if below else "")
        return parse_name(name, self.style)

    def open_app(self, key: AppKey, pacing: Pacing, repository: str = "") -> AppAccess:
        """Return the access of an App to a repository; to none, its own."""
        check_api_url(self.style, self.api)
        there = AppPlace(style=self.style, api=self.api, repository=repository, needed=self.needed)
        return AppAccess(key, there, pacing)

    async def make_git_login(self, pacing: Pacing) -> dict[str, str]:
        """Return the variables with which git is the App at the forge; none without an App, or if
        the remote `origin` is elsewhere.
        """
        if self.app is None:
            return {}
        api = check_api_url(self.style, self.api)
        if not await takes_login(self.git, self.style, api):
            return {}
        access = self.open_app(self.app, pacing, await self.find_repository())
        return make_git_login(self.style, api, (await access.read_token())[0])
