"""Typed requests to the issues of one GitHub repository."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from punchlist.adapters.rest.client import ApiCall, RequestRefused, ResponseLost, RestClient
from punchlist.adapters.rest.retry import Unavailable
from punchlist.adapters.trackers.issues.api import Issue, IssueChange, IssueDraft, IssueLookup

T = TypeVar("T")

_PAGE = "100"
_PAGES = 300
_SEARCHED = 1000
"""GitHub shows no more results of one search."""
_ELSEWHERE = frozenset({301, 302, 307, 308, 410})
"""The status of an issue that was moved away or deleted."""
_FREE = 404
_COLORS = {"critical": "b60205", "major": "d93f0b", "minor": "fbca04"}
_PLAIN = "c5def5"
_BY_CREATION = {"state": "all", "sort": "created", "per_page": _PAGE}
_OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_DECLINED = frozenset({"not_planned", "duplicate"})


class _Author(Struct, frozen=True):
    login: str = ""
    type: str = ""


class _Issue(Struct, frozen=True, kw_only=True):
    """An issue, or a pull request, as GitHub's API returns it."""

    number: int
    html_url: str
    state: str
    state_reason: str | None = None
    body: str | None = None
    user: _Author | None = None
    author_association: str = ""
    pull_request: dict[str, Any] | None = None


class _IssueRepository(Struct, frozen=True):
    full_name: str
    has_issues: bool = True
    archived: bool = False


class _SearchResult(Struct, frozen=True):
    total_count: int
    items: list[_Issue]


class _LabelName(Struct, frozen=True):
    name: str


class GithubIssues:
    """`repository` is OWNER/NAME; `open` finds its current name."""

    name = "GitHub"
    body_limit = 65_536

    def __init__(self, rest: RestClient, repository: str, viewer: str) -> None:
        self._rest = rest
        self._repository = repository
        self._viewer = viewer

    @classmethod
    async def open(cls, rest: RestClient, repository: str) -> "GithubIssues":
        """Find the repository, also after a rename; raises Unavailable if it takes no issues."""
        call = ApiCall(method="GET", path=f"/repos/{repository}")
        try:
            found = (await rest.request(call, _IssueRepository)).value
        except RequestRefused as refused:
            why = f"{repository}: {refused}; does it exist, and may the token see it?"
            raise Unavailable(why) from refused
        if not found.has_issues or found.archived:
            why = "is archived" if found.archived else "has its issues switched off"
            raise Unavailable(f"{found.full_name} {why} on GitHub")
        try:
            user = (await rest.request(ApiCall(method="GET", path="/user"), _Author)).value
        except RequestRefused:
            user = _Author()  # a token without a user, such as a CI job's
        return cls(rest, found.full_name, user.login)

    async def list_labelled(self, labels: Sequence[str]) -> list[Issue]:
        """Return all issues with these labels (or all), open or closed, oldest first."""
        wanted = {"labels": ",".join(labels)} if labels else {}
        params = {**_BY_CREATION, "direction": "asc", **wanted}
        pages = self._read_pages(self._api_path("issues"), params)
        return [self._read(issue) async for page in pages for issue in page]

    async def list_newest(self) -> list[Issue]:
        params = {**_BY_CREATION, "direction": "desc"}
        found = await self._get(self._api_path("issues"), list[_Issue], params)
        return list(map(self._read, found))

    async def read_issue(self, number: int) -> IssueLookup:
        """Read an issue by number; never stale, unlike lists."""
        call = ApiCall(method="GET", path=self._api_path(f"issues/{number}"), follow=False)
        try:
            return IssueLookup(self._read(await self._request(call, _Issue)))
        except RequestRefused as refused:
            if refused.status not in _ELSEWHERE | {_FREE}:
                raise
            return IssueLookup(taken=refused.status != _FREE)

    async def search_text(self, words: str) -> tuple[list[Issue], bool]:
        """Return issues with these words in the body, and whether that is all; the index lags."""
        query = f'repo:{self._repository} is:issue in:body "{words}"'
        found: list[Issue] = []
        for page in range(1, _SEARCHED // int(_PAGE) + 1):
            params = {"q": query, "per_page": _PAGE, "page": str(page)}
            answer = await self._get("/search/issues", _SearchResult, params)
            found += map(self._read, answer.items)
            if not answer.items or len(found) >= answer.total_count:
                return found, True
        return found, False

    async def create_issue(self, draft: IssueDraft) -> Issue:
        """Raises ResponseLost if it is unknown whether the issue was created."""
        content = {"title": draft.title, "body": draft.body, "labels": list(draft.labels)}
        call = ApiCall(method="POST", path=self._api_path("issues"), json=content, once=True)
        return self._read(await self._request(call, _Issue))

    async def update_issue(self, number: int, change: IssueChange) -> Issue:
        content = {"state": "open" if change.open else "closed"}
        if change.declined:
            content["state_reason"] = "not_planned"
        if change.body is not None:
            content["body"] = change.body
        call = ApiCall(method="PATCH", path=self._api_path(f"issues/{number}"), json=content)
        return self._read(await self._request(call, _Issue))

    def _read(self, issue: _Issue) -> Issue:
        author = issue.user or _Author()
        ours = author.type == "Bot" or (author.login == self._viewer and bool(self._viewer))
        is_open = issue.state == "open"
        return Issue(
            number=issue.number,
            url=issue.html_url,
            open=is_open,
            body=issue.body or "",
            declined=not is_open and issue.state_reason in _DECLINED,
            trusted=issue.pull_request is None and (ours or issue.author_association in _OURS),
        )

    async def ensure_label(self, name: str) -> None:
        """Create a label if it is missing; errors are ignored."""
        path = self._api_path("labels")
        with suppress(RequestRefused, ResponseLost):
            try:
                await self._get(f"{path}/{quote(name, safe='')}", _LabelName)
            except RequestRefused:
                color = _COLORS.get(name, _PLAIN)
                content = {"name": name, "color": color, "description": "Filed by punchlist"}
                await self._request(ApiCall(method="POST", path=path, json=content), _LabelName)

    async def _get(self, path: str, kind: type[T], params: dict[str, str] | None = None) -> T:
        return await self._request(ApiCall(method="GET", path=path, params=params or {}), kind)

    async def _request(self, call: ApiCall, kind: type[T]) -> T:
        return (await self._rest.request(call, kind)).value

    async def _read_pages(self, path: str, params: dict[str, str]) -> AsyncIterator[list[_Issue]]:
        """Yield all pages; raises Unavailable if there are too many."""
        for _ in range(_PAGES):
            page = await self._rest.request(
                ApiCall(method="GET", path=path, params=params), list[_Issue]
            )
            yield page.value
            if not page.next:
                return
            path, params = page.next, {}
        why = f"has more than {_PAGES} pages of issues; they cannot all be looked at"
        raise Unavailable(f"{self._repository} {why}")

    def _api_path(self, below: str) -> str:
        return f"/repos/{self._repository}/{below}"
