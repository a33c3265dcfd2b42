"""Typed requests to the issues of one repository on Gitea or Forgejo."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from punchlist.adapters.rest.client import ApiCall, RequestRefused, ResponseLost, RestClient
from punchlist.adapters.rest.retry import Unavailable
from punchlist.adapters.trackers.issues.api import (
    MARKER,
    Issue,
    IssueChange,
    IssueDraft,
    IssueLookup,
)

T = TypeVar("T")

_PAGE = "50"
"""Entries of one page; servers give no more by default."""
_PAGES = 300
_SEARCHED = 20
"""Pages of one search."""
_FREE = 404
_COLORS = {"critical": "#b60205", "major": "#d93f0b", "minor": "#fbca04"}
_PLAIN = "#c5def5"
_ALL = {"state": "all", "type": "issues", "limit": _PAGE}
_DECLINED = ("wontfix", "won't fix", "invalid", "duplicate")
"""Labels by which people say that nothing shall be done: closing has no reason here."""


class _User(Struct, frozen=True):
    login: str = ""
    id: int = 0


class _Label(Struct, frozen=True):
    id: int
    name: str


class _GiteaIssue(Struct, frozen=True, kw_only=True):
    """An issue, or a pull request, as the API returns it."""

    number: int
    html_url: str
    state: str
    body: str = ""
    user: _User | None = None
    labels: list[_Label] | None = None
    pull_request: dict[str, Any] | None = None


class _TrackedRepository(Struct, frozen=True):
    full_name: str
    has_issues: bool = True
    archived: bool = False


class _IssuePermission(Struct, frozen=True):
    permission: str = ""


class GiteaIssues:
    """`repository` is OWNER/NAME; `open` finds its current name."""

    body_limit = 65_536

    def __init__(self, rest: RestClient, repository: str, viewer: str) -> None:
        self.name = rest.style.name
        self._rest = rest
        self._repository = repository
        self._trusted = {viewer: True} if viewer else {}
        self._labels: dict[str, int] | None = None

    @classmethod
    async def open(cls, rest: RestClient, repository: str) -> "GiteaIssues":
        """Find the repository, also after a rename; raises Unavailable if it takes no issues."""
        call = ApiCall(method="GET", path=f"/repos/{repository}")
        try:
            found = (await rest.request(call, _TrackedRepository)).value
        except RequestRefused as refused:
            why = f"{repository}: {refused}; does it exist, and may the token see it?"
            raise Unavailable(why) from refused
        if not found.has_issues or found.archived:
            why = "is archived" if found.archived else "has its issues switched off"
            raise Unavailable(f"{found.full_name} {why} on {rest.style.name}")
        try:
            user = (await rest.request(ApiCall(method="GET", path="/user"), _User)).value
        except RequestRefused as refused:
            hint = "give the token the scope read:user"
            raise Unavailable(
                f"whose token it is cannot be read: {refused}", hint=hint
            ) from refused
        return cls(rest, found.full_name, user.login)

    async def list_labelled(self, labels: Sequence[str]) -> list[Issue]:
        """Return all issues with these labels (or all), open or closed, oldest first."""
        wanted = {"labels": ",".join(labels)} if labels else {}
        pages = self._read_pages("issues", {**_ALL, **wanted}, list[_GiteaIssue], _PAGES)
        found = [await self._read(issue) async for page in pages for issue in page]
        return sorted(found, key=lambda each: each.number)

    async def list_newest(self) -> list[Issue]:
        found = await self._send("GET", "issues", list[_GiteaIssue], params=_ALL)
        return [await self._read(each) for each in found]

    async def read_issue(self, number: int) -> IssueLookup:
        """Read an issue by number; never stale, unlike lists."""
        try:
            return IssueLookup(
                await self._read(await self._send("GET", f"issues/{number}", _GiteaIssue))
            )
        except RequestRefused as refused:
            if refused.status != _FREE:
                raise
            return IssueLookup(taken=False)

    async def search_text(self, words: str) -> tuple[list[Issue], bool]:
        """Return issues with these words, and whether that is all; the index lags."""
        found: list[Issue] = []
        try:
            pages = self._read_pages("issues", {**_ALL, "q": words}, list[_GiteaIssue], _SEARCHED)
            async for page in pages:
                found += [await self._read(each) for each in page]
        except Unavailable:
            return found, False
        return found, True

    async def create_issue(self, draft: IssueDraft) -> Issue:
        """Raises ResponseLost if it is unknown whether the issue was created."""
        known = await self._load_labels() if draft.labels else {}
        numbers = [known[name] for name in draft.labels if name in known]
        content = {"title": draft.title, "body": draft.body, "labels": numbers}
        made = await self._send("POST", "issues", _GiteaIssue, json=content, once=True)
        return await self._read(made)

    async def update_issue(self, number: int, change: IssueChange) -> Issue:
        content = {"state": "open" if change.open else "closed"}
        if change.body is not None:
            content["body"] = change.body
        return await self._read(
            await self._send("PATCH", f"issues/{number}", _GiteaIssue, json=content)
        )

    async def ensure_label(self, name: str) -> None:
        """Create a label if it is missing; errors are ignored."""
        with suppress(RequestRefused, ResponseLost):
            known = await self._load_labels()
            if name not in known:
                color = _COLORS.get(name, _PLAIN)
                content = {"name": name, "color": color, "description": "Filed by punchlist"}
                known[name] = (await self._send("POST", "labels", _Label, json=content)).id

    async def _load_labels(self) -> dict[str, int]:
        """Return the repository's labels: issues name them by number."""
        if self._labels is None:
            pages = self._read_pages("labels", {"limit": _PAGE}, list[_Label], _PAGES)
            self._labels = {label.name: label.id async for page in pages for label in page}
        return self._labels

    async def _read(self, issue: _GiteaIssue) -> Issue:
        is_open = issue.state == "open"
        names = [label.name.casefold() for label in issue.labels or ()]
        ours = issue.pull_request is None and MARKER in issue.body
        return Issue(
            number=issue.number,
            url=issue.html_url,
            open=is_open,
            body=issue.body,
            declined=not is_open and any(word in name for name in names for word in _DECLINED),
            trusted=ours and await self._trusts(issue.user or _User()),
        )

    async def _trusts(self, user: _User) -> bool:
        """Return whether it is our own user, or one who may write: others may forge
        fingerprints.
        """
        if user.login and user.login not in self._trusted:
            path = f"collaborators/{quote(user.login, safe='')}/permission"
            try:
                said = (await self._send("GET", path, _IssuePermission)).permission
            except RequestRefused:
                said = ""
            self._trusted[user.login] = said in ("owner", "admin", "write")
        return self._trusted.get(user.login, False)

    async def _send(self, method: str, below: str, kind: type[T], **parts: Any) -> T:
        call = ApiCall(method=method, path=f"/repos/{self._repository}/{below}", **parts)
        return (await self._rest.request(call, kind)).value

    async def _read_pages(
        self, below: str, params: dict[str, str], kind: type[T], most: int
    ) -> AsyncIterator[T]:
        """Yield all pages; raises Unavailable if there are too many."""
        path = f"/repos/{self._repository}/{below}"
        for _ in range(most):
            page = await self._rest.request(ApiCall(method="GET", path=path, params=params), kind)
            yield page.value
            if not page.next:
                return
            path, params = page.next, {}
        why = f"has more than {most} pages of {below}; they cannot all be looked at"
        raise Unavailable(f"{self._repository} {why}")
