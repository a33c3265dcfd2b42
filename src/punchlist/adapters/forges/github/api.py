"""Typed requests about one pull request."""

from collections.abc import AsyncIterator
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from punchlist.adapters.forges.github import queries as gql
from punchlist.adapters.rest.client import ApiCall, RequestRefused, RestClient
from punchlist.adapters.rest.retry import Unavailable

T = TypeVar("T")

_PAGES = 100
_ENTERPRISE = "/api/v3"
_FORBIDDEN = 403
_NOT_FOUND = 404


class Login(Struct, frozen=True):
    login: str = ""


class _Repository(Struct, frozen=True):
    full_name: str = ""


class _Branch(Struct, frozen=True):
    sha: str
    ref: str
    repo: _Repository | None = None


class Pull(Struct, frozen=True, kw_only=True):
    number: int
    html_url: str
    state: str
    head: _Branch
    base: _Branch
    title: str = ""
    body: str | None = None
    merged_at: str | None = None
    user: Login | None = None


class CheckOutput(Struct, frozen=True):
    annotations_count: int = 0


class CheckRun(Struct, frozen=True, kw_only=True):
    id: int
    name: str
    external_id: str | None = None
    status: str = ""
    output: CheckOutput = CheckOutput()


class _CheckRuns(Struct, frozen=True):
    check_runs: list[CheckRun]


class CheckNote(Struct, frozen=True, kw_only=True):
    path: str
    start_line: int
    end_line: int
    annotation_level: str | None = None
    title: str | None = None
    message: str | None = None
    blob_href: str = ""


class _AlertRule(Struct, frozen=True):
    id: str | None = None
    severity: str | None = None
    security_severity_level: str | None = None
    description: str = ""


class _Tool(Struct, frozen=True):
    name: str = "code scanning"


class _AlertText(Struct, frozen=True):
    text: str = ""


class _AlertPlace(Struct, frozen=True):
    path: str = ""
    start_line: int | None = None
    end_line: int | None = None


class _Instance(Struct, frozen=True):
    message: _AlertText = _AlertText()
    location: _AlertPlace = _AlertPlace()


class Alert(Struct, frozen=True, kw_only=True):
    number: int
    html_url: str
    rule: _AlertRule = _AlertRule()
    tool: _Tool = _Tool()
    most_recent_instance: _Instance = _Instance()


class GithubStatus(Struct, frozen=True):
    context: str
    state: str
    description: str | None = None


class _Statuses(Struct, frozen=True):
    statuses: list[GithubStatus]


class _Permission(Struct, frozen=True):
    permission: str


class MadeComment(Struct, frozen=True):
    id: int


class PullsApi:
    """Requests to one repository; `repository` is OWNER/NAME."""

    def __init__(self, rest: RestClient, repository: str) -> None:
        self._rest = rest
        self.repository = repository

    async def read_pull(self, number: int) -> Pull:
        return await self._send("GET", f"pulls/{number}", Pull)

    async def find_pulls(self, branch: str, state: str = "open") -> list[Pull]:
        """Return those of a branch, the newest first; that of a fork is OWNER:BRANCH."""
        owner = self.repository.partition("/")[0]
        params = {"head": branch if ":" in branch else f"{owner}:{branch}", "state": state}
        pages = self._read_pages("pulls", params, list[Pull])
        return [pull async for page in pages for pull in page]

    async def open_pull(self, content: dict[str, Any]) -> Pull:
        """Open one; raise ResponseLost if it may be open or not."""
        return await self._send("POST", "pulls", Pull, json=content, once=True)

    async def read_viewer(self) -> str:
        """Return the token's user; works for every kind of token."""
        return (await self._query(gql.VIEWER, {}, gql.ViewerData)).viewer.login

    async def read_nodes(self, query: str, number: int, kind: type[T]) -> AsyncIterator[T]:
        """Yield each node of a list of the pull request."""
        owner, name = self.repository.split("/")
        variables: gql.Variables = {"owner": owner, "name": name, "number": number, "after": None}
        for _ in range(_PAGES):
            data = await self._query(query, variables, gql.PullData[kind])  # type: ignore[valid-type]
            pull = data.repository.pull_request if data.repository else None
            if pull is None:
                raise Unavailable(f"{self.repository} has no pull request {number}")
            for node in pull.found.nodes:
                yield node
            if not pull.found.page_info.has_next_page:
                return
            variables["after"] = pull.found.page_info.end_cursor
        raise Unavailable(f"pull request {number} has more comments than can be looked at")

    async def read_more_comments(self, thread: str, after: str | None) -> list[gql.CommentNode]:
        """Return the comments of a thread behind its first page."""
        found: list[gql.CommentNode] = []
        for _ in range(_PAGES):
            variables = {"thread": thread, "after": after}
            data = await self._query(gql.MORE_COMMENTS, variables, gql.NodeData)
            if data.node is None:
                return found
            found += data.node.comments.nodes
            if not data.node.comments.page_info.has_next_page:
                return found
            after = data.node.comments.page_info.end_cursor
        raise Unavailable(f"thread {thread} has more comments than can be looked at")

    async def set_resolved(self, thread: str, *, resolved: bool) -> None:
        query = gql.RESOLVE if resolved else gql.UNRESOLVE
        await self._query(query, {"thread": thread}, dict[str, Any], reads=False)

    async def list_check_runs(self, commit: str, name: str = "") -> list[CheckRun]:
        """Return the newest of each name, or all of one name: as an App only those that it made,
        because it cannot change others.
        """
        params = {"filter": "latest"}
        if name:
            own = {"app_id": str(self._rest.app)} if self._rest.app else {}
            params = {"check_name": name, "filter": "all", **own}
        pages = self._read_pages(f"commits/{commit}/check-runs", params, _CheckRuns)
        return [run async for page in pages for run in page.check_runs]

    async def list_notes(self, check_run: int) -> list[CheckNote]:
        pages = self._read_pages(f"check-runs/{check_run}/annotations", {}, list[CheckNote])
        return [note async for page in pages for note in page]

    async def list_alerts(self, number: int) -> list[Alert]:
        params = {"ref": f"refs/pull/{number}/merge", "state": "open"}
        pages = self._read_pages("code-scanning/alerts", params, list[Alert])
        return [alert async for page in pages for alert in page]

    async def may_write(self, login: str) -> bool:
        """Return whether the user may write; False for one that is no collaborator."""
        path = f"collaborators/{quote(login, safe='')}/permission"
        try:
            found = await self._send("GET", path, _Permission)
        except RequestRefused as refused:
            if refused.status in (_NOT_FOUND, _FORBIDDEN):
                return False
            raise
        return found.permission in ("admin", "write", "maintain")

    async def list_statuses(self, commit: str) -> list[GithubStatus]:
        pages = self._read_pages(f"commits/{commit}/status", {}, _Statuses)
        return [status async for page in pages for status in page.statuses]

    async def create(self, path: str, content: dict[str, Any]) -> int:
        """Create something and return its id; raise ResponseLost if it may exist or not."""
        return (await self._send("POST", path, MadeComment, json=content, once=True)).id

    async def update(self, path: str, content: dict[str, Any]) -> None:
        await self._send("PATCH", path, dict[str, Any], json=content)

    async def delete(self, path: str) -> None:
        """Delete a comment; one that is gone already is fine."""
        try:
            await self._send("DELETE", path, None)  # type: ignore[arg-type]
        except RequestRefused as refused:
            if refused.status != _NOT_FOUND:
                raise

    async def _send(self, method: str, below: str, kind: type[T], **parts: Any) -> T:
        call = ApiCall(method=method, path=f"/repos/{self.repository}/{below}", **parts)
        return (await self._rest.request(call, kind)).value

    async def _read_pages(
        self, below: str, params: dict[str, str], kind: type[T]
    ) -> AsyncIterator[T]:
        path, params = f"/repos/{self.repository}/{below}", {"per_page": "100", **params}
        for _ in range(_PAGES):
            page = await self._rest.request(ApiCall(method="GET", path=path, params=params), kind)
            yield page.value
            if not page.next:
                return
            path, params = page.next, {}
        raise Unavailable(f"{self.repository} has more {below} than can be looked at")

    async def _query(
        self, query: str, variables: gql.Variables, kind: type[T], *, reads: bool = True
    ) -> T:
        """Send a query; raise RequestRefused if GitHub refuses it."""
        api = self._rest.api
        path = "/graphql"
        if api.path.rstrip("/").endswith(_ENTERPRISE):
            path = str(api.copy_with(path="/api/graphql"))
        body = {"query": query, "variables": variables}
        call = ApiCall(method="POST", path=path, json=body, reads=reads)
        reply = (await self._rest.request(call, gql.GraphqlReply[kind])).value  # type: ignore[valid-type]
        if reply.errors or reply.data is None:
            first = reply.errors[0] if reply.errors else gql.GraphqlError("no data")
            if first.type == "RATE_LIMITED":
                raise Unavailable(f"GitHub answered: {first.message}")
            status = _FORBIDDEN if first.type == "FORBIDDEN" else _NOT_FOUND
            raise RequestRefused(f"GitHub answered: {first.message}", status)
        return reply.data
