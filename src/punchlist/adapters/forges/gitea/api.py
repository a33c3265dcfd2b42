"""Typed requests about one pull request on Gitea or Forgejo."""

import re
from collections.abc import AsyncIterator
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct, field

from punchlist.adapters.rest.client import ApiCall, RequestRefused, RestClient
from punchlist.adapters.rest.retry import Unavailable

T = TypeVar("T")

_PAGE = "50"
"""Entries of one page; servers give no more by default."""
_PAGES = 100
_FORBIDDEN = 403
_NOT_FOUND = 404
_VERSION = re.compile(r"(\d+)\.(\d+)")
_RESOLVES = (1, 26)
_REPLIES = (1, 27)


class GiteaUser(Struct, frozen=True):
    login: str = ""
    id: int = 0


class _GiteaRepository(Struct, frozen=True):
    full_name: str = ""


class _GiteaBranch(Struct, frozen=True):
    """`label` is the name of the branch, also once that is deleted."""

    label: str = ""
    sha: str = ""
    ref: str = ""
    repo: _GiteaRepository | None = None


class GiteaPull(Struct, frozen=True, kw_only=True):
    number: int
    html_url: str
    state: str
    head: _GiteaBranch
    base: _GiteaBranch
    title: str = ""
    body: str = ""
    merged: bool = False
    user: GiteaUser | None = None


class Review(Struct, frozen=True, kw_only=True):
    id: int
    state: str = ""
    body: str = ""
    html_url: str = ""
    comments_count: int = 0
    dismissed: bool = False
    user: GiteaUser | None = None


class ReviewComment(Struct, frozen=True, kw_only=True):
    """`position` is a line of the new file, `original_position` one of the old."""

    id: int
    body: str = ""
    path: str = ""
    html_url: str = ""
    position: int = 0
    original_position: int = 0
    user: GiteaUser | None = None
    resolver: GiteaUser | None = None


class IssueComment(Struct, frozen=True, kw_only=True):
    id: int
    body: str = ""
    html_url: str = ""
    user: GiteaUser | None = None


class GiteaStatus(Struct, frozen=True, kw_only=True):
    id: int
    context: str = ""
    state: str = field(default="", name="status")
    description: str = ""


class Abilities(Struct, frozen=True):
    """What the server's version can do by its API."""

    resolve: bool = False
    reply: bool = False


class _GiteaVersion(Struct, frozen=True):
    version: str = ""


class _GiteaPermission(Struct, frozen=True):
    permission: str = ""


class _GiteaMade(Struct, frozen=True):
    id: int


def parse_abilities(version: str) -> Abilities:
    """Return what a server of this version can do. Forgejo has a number of its own, and names the
    Gitea that it is like: its API has neither.
    """
    found = _VERSION.match(version)
    if found is None or "+gitea" in version:
        return Abilities()
    number = int(found[1]), int(found[2])
    return Abilities(resolve=number >= _RESOLVES, reply=number >= _REPLIES)


class GiteaApi:
    """Requests to one repository; `repository` is OWNER/NAME."""

    def __init__(self, rest: RestClient, repository: str) -> None:
        self._rest = rest
        self.repository = repository
        self._abilities: Abilities | None = None

    async def read_abilities(self) -> Abilities:
        if self._abilities is None:
            call = ApiCall(method="GET", path="/version")
            try:
                version = (await self._rest.request(call, _GiteaVersion)).value.version
            except RequestRefused:
                version = ""
            self._abilities = parse_abilities(version)
        return self._abilities

    async def read_pull(self, number: int) -> GiteaPull:
        return await self._send("GET", f"pulls/{number}", GiteaPull)

    async def list_pulls(self, **params: str) -> list[GiteaPull]:
        """Return the open ones, unless another state is asked for."""
        return await self._read_all("pulls", list[GiteaPull], {"state": "open", **params})

    async def open_pull(self, content: dict[str, Any]) -> GiteaPull:
        """Open one; raise ResponseLost if it may be open or not."""
        return await self._send("POST", "pulls", GiteaPull, json=content, once=True)

    async def read_viewer(self) -> str:
        return (
            await self._rest.request(ApiCall(method="GET", path="/user"), GiteaUser)
        ).value.login

    async def list_reviews(self, number: int) -> list[Review]:
        return await self._read_all(f"pulls/{number}/reviews", list[Review], {})

    async def list_review_comments(self, number: int, review: int) -> list[ReviewComment]:
        below = f"pulls/{number}/reviews/{review}/comments"
        try:
            return await self._send("GET", below, list[ReviewComment])
        except RequestRefused as refused:
            if refused.status == _NOT_FOUND:  # deleted since it was listed
                return []
            raise

    async def list_comments(self, number: int) -> list[IssueComment]:
        return await self._send("GET", f"issues/{number}/comments", list[IssueComment])

    async def list_statuses(self, commit: str) -> list[GiteaStatus]:
        return await self._read_all(f"commits/{commit}/statuses", list[GiteaStatus], {})

    async def may_write(self, login: str) -> bool | None:
        """Return whether the user may write; None if the token may not ask."""
        path = f"collaborators/{quote(login, safe='')}/permission"
        try:
            found = await self._send("GET", path, _GiteaPermission)
        except RequestRefused as refused:
            if refused.status == _NOT_FOUND:
                return False
            if refused.status == _FORBIDDEN:
                return None
            raise
        return found.permission in ("owner", "admin", "write")

    async def create(self, below: str, content: dict[str, Any]) -> int:
        """Create something and return its id; raise ResponseLost if it may exist or not."""
        return (await self._send("POST", below, _GiteaMade, json=content, once=True)).id

    async def update(self, below: str, content: dict[str, Any]) -> None:
        await self._send("PATCH", below, dict[str, Any], json=content)

    async def set_resolved(self, comment: str, *, resolved: bool) -> None:
        word = "resolve" if resolved else "unresolve"
        await self._send("POST", f"pulls/comments/{comment}/{word}", None)  # type: ignore[arg-type]

    async def delete(self, below: str) -> None:
        """Delete a comment; one that is gone already is fine."""
        try:
            await self._send("DELETE", below, None)  # type: ignore[arg-type]
        except RequestRefused as refused:
            if refused.status != _NOT_FOUND:
                raise

    async def _send(self, method: str, below: str, kind: type[T], **parts: Any) -> T:
        call = ApiCall(method=method, path=f"/repos/{self.repository}/{below}", **parts)
        return (await self._rest.request(call, kind)).value

    async def _read_all(self, below: str, kind: type[list[T]], params: dict[str, str]) -> list[T]:
        pages = self._read_pages(below, kind, params)
        return [entry async for page in pages for entry in page]

    async def _read_pages(
        self, below: str, kind: type[list[T]], params: dict[str, str]
    ) -> AsyncIterator[list[T]]:
        path, params = f"/repos/{self.repository}/{below}", {"limit": _PAGE, **params}
        for _ in range(_PAGES):
            page = await self._rest.request(ApiCall(method="GET", path=path, params=params), kind)
            yield page.value
            if not page.next:
                return
            path, params = page.next, {}
        raise Unavailable(f"{self.repository} has more {below} than can be looked at")
