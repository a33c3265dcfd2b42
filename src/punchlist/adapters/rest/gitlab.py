"""What merge requests and issues on GitLab share: a project's address, its pages, its members."""

from collections.abc import AsyncIterator
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct

from punchlist.adapters.rest.client import ApiCall, RequestRefused, RestClient
from punchlist.adapters.rest.retry import Unavailable

T = TypeVar("T")

REPORTER = 20
DEVELOPER = 30
_PAGES = 300
_FORBIDDEN = 403
_NOT_FOUND = 404


class User(Struct, frozen=True):
    id: int = 0
    username: str = ""
    bot: bool = False
    """Only the page of a user tells that."""


class _Member(Struct, frozen=True):
    access_level: int = 0
    state: str = "active"
    membership_state: str = "active"


class GitlabProject:
    """Requests to one project, whose name is GROUP/NAME, or its number."""

    def __init__(self, rest: RestClient, name: str | int) -> None:
        self.rest = rest
        self.name = str(name)
        self._levels: dict[int, int] = {}

    def path(self, below: str = "") -> str:
        """Return the path of something in the project."""
        return f"/projects/{quote(self.name, safe='')}{f'/{below}' if below else ''}"

    async def send(self, method: str, below: str, kind: type[T], **parts: Any) -> T:
        call = ApiCall(method=method, path=self.path(below), **parts)
        return (await self.rest.request(call, kind)).value

    async def read_all(self, below: str, params: dict[str, str], kind: type[T]) -> list[T]:
        """Return all entries of a list."""
        pages = self.read_pages(below, params, kind)
        return [entry async for page in pages for entry in page]

    async def read_pages(
        self, below: str, params: dict[str, str], kind: type[T]
    ) -> AsyncIterator[list[T]]:
        """Yield the pages of a list: each names the next one, of which only the parameters are
        taken, since a server may know itself by another address. Raise Unavailable if there are
        too many.
        """
        path, params = self.path(below), {"per_page": "100", **params}
        for _ in range(_PAGES):
            call = ApiCall(method="GET", path=path, params=params)
            page = await self.rest.request(call, list[kind])  # type: ignore[valid-type]
            yield page.value
            if not page.next:
                return
            params = dict(parse_qsl(urlsplit(page.next).query))
        raise Unavailable(f"{self.name}: {below} has more than {_PAGES} pages")

    async def read_user(self) -> User:
        """Return the token's user."""
        return (await self.rest.request(ApiCall(method="GET", path="/user"), User)).value

    async def read_level(self, user: int) -> int:
        """Return the access level of a user here, also by groups; 0 for one that is no member."""
        if user not in self._levels:
            try:
                member = await self.send("GET", f"members/all/{user}", _Member)
            except RequestRefused as refused:
                if refused.status not in (_NOT_FOUND, _FORBIDDEN):
                    raise
                member = _Member()
            active = member.state == member.membership_state == "active"
            self._levels[user] = member.access_level if active else 0
        return self._levels[user]

    async def create(self, below: str, content: dict[str, Any], kind: type[T]) -> T:
        """Create something; raise ResponseLost if it may exist or not."""
        return await self.send("POST", below, kind, json=content, once=True)

    async def delete(self, below: str) -> None:
        """Delete something; what is gone already is fine."""
        try:
            await self.send("DELETE", below, Any)
        except RequestRefused as refused:
            if refused.status != _NOT_FOUND:
                raise
