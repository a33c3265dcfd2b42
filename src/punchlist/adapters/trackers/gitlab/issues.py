"""The issues of one GitLab project."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from punchlist.adapters.rest.client import RequestRefused, ResponseLost, RestClient
from punchlist.adapters.rest.gitlab import REPORTER, GitlabProject, User
from punchlist.adapters.rest.retry import Unavailable
from punchlist.adapters.trackers.issues.api import Issue, IssueChange, IssueDraft, IssueLookup
from punchlist.views.pulls.markup import GITLAB

_BY_CREATION = {"order_by": "created_at", "scope": "all"}
_SEARCHED = 10
"""Pages of one search that are looked at."""
_FREE = 404
_COLORS = {"critical": "#b60205", "major": "#d93f0b", "minor": "#fbca04"}
_PLAIN = "#c5def5"
_DECLINED = "<!-- punchlist:declined -->"
_DECLINING = frozenset({"wontfix", "wontdo", "declined", "invalid", "duplicate", "notplanned"})
"""Labels, without signs between letters, of an issue that was closed undone: GitLab's issues have
no reason of their own.
"""


class _GitlabIssue(Struct, frozen=True, kw_only=True):
    iid: int
    web_url: str
    state: str
    description: str | None = None
    author: User | None = None
    labels: list[str] = []


class _IssueProject(Struct, frozen=True):
    id: int
    path_with_namespace: str
    issues_access_level: str = "enabled"
    archived: bool = False


class GitlabIssues:
    """`open` finds the project, also by a former name."""

    name = "GitLab"
    body_limit = 1_000_000

    def __init__(self, project: GitlabProject, viewer: User) -> None:
        self._project = project
        self._viewer = viewer

    @classmethod
    async def open(cls, rest: RestClient, repository: str) -> "GitlabIssues":
        """Raises Unavailable if the project takes no issues."""
        project = GitlabProject(rest, repository)
        try:
            found = await project.send("GET", "", _IssueProject)
        except RequestRefused as refused:
            why = f"{repository}: {refused}; does it exist, and may the token see it?"
            raise Unavailable(why) from refused
        if found.archived or found.issues_access_level == "disabled":
            why = "is archived" if found.archived else "has its issues switched off"
            raise Unavailable(f"{found.path_with_namespace} {why} on GitLab")
        return cls(GitlabProject(rest, found.id), await project.read_user())

    async def list_labelled(self, labels: Sequence[str]) -> list[Issue]:
        wanted = {"labels": ",".join(labels)} if labels else {}
        params = {**_BY_CREATION, "sort": "asc", **wanted}
        return [await self._read(each) for each in await self._list(params)]

    async def list_newest(self) -> list[Issue]:
        params = {**_BY_CREATION, "sort": "desc"}
        async for page in self._project.read_pages("issues", params, _GitlabIssue):
            return [await self._read(each) for each in page]
        return []

    async def read_issue(self, number: int) -> IssueLookup:
        try:
            found = await self._project.send("GET", f"issues/{number}", _GitlabIssue, follow=False)
        except RequestRefused as refused:
            if refused.status != _FREE:
                raise
            return IssueLookup(taken=False)
        return IssueLookup(await self._read(found))

    async def search_text(self, words: str) -> tuple[list[Issue], bool]:
        params = {**_BY_CREATION, "search": words, "in": "description"}
        found: list[Issue] = []
        pages = 0
        async for page in self._project.read_pages("issues", params, _GitlabIssue):
            found += [await self._read(each) for each in page]
            pages += 1
            if pages == _SEARCHED:
                return found, False
        return found, True

    async def create_issue(self, draft: IssueDraft) -> Issue:
        content = {
            "title": draft.title,
            "description": GITLAB.finish(draft.body),
            "labels": list(draft.labels),
        }
        return await self._read(await self._project.create("issues", content, _GitlabIssue))

    async def update_issue(self, number: int, change: IssueChange) -> Issue:
        """Set what differs: GitLab refuses to close what is closed."""
        now = await self._project.send("GET", f"issues/{number}", _GitlabIssue)
        content: dict[str, Any] = {}
        if change.open != (now.state == "opened"):
            content["state_event"] = "reopen" if change.open else "close"
        text = now.description or "" if change.body is None else change.body
        text = text.replace(_DECLINED, "").rstrip()
        if change.declined:
            text = f"{text}\n\n{_DECLINED}"
        content["description"] = GITLAB.finish(text)
        found = await self._project.send("PUT", f"issues/{number}", _GitlabIssue, json=content)
        return await self._read(found)

    async def ensure_label(self, name: str) -> None:
        with suppress(RequestRefused, ResponseLost):
            try:
                await self._project.send("GET", f"labels/{quote(name, safe='')}", Any)
            except RequestRefused:
                content = {"name": name, "color": _COLORS.get(name, _PLAIN)}
                content["description"] = "Filed by punchlist"
                await self._project.send("POST", "labels", Any, json=content)

    async def _list(self, params: dict[str, str]) -> list[_GitlabIssue]:
        return await self._project.read_all("issues", params, _GitlabIssue)

    async def _read(self, issue: _GitlabIssue) -> Issue:
        author, is_open = issue.author or User(), issue.state == "opened"
        plain = {"".join(filter(str.isalnum, each.casefold())) for each in issue.labels}
        declined = _DECLINED in (issue.description or "") or bool(plain & _DECLINING)
        ours = author.id == self._viewer.id
        return Issue(
            number=issue.iid,
            url=issue.web_url,
            open=is_open,
            body=issue.description or "",
            declined=not is_open and declined,
            trusted=ours or await self._project.read_level(author.id) >= REPORTER,
        )
