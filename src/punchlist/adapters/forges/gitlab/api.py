"""Typed requests about one merge request."""

from typing import Any

from msgspec import Struct

from punchlist.adapters.rest.client import ApiCall, RequestRefused
from punchlist.adapters.rest.gitlab import GitlabProject, User


class DiffRefs(Struct, frozen=True):
    """The commits of a diff: its merge base, the target branch, the source branch."""

    base_sha: str
    start_sha: str
    head_sha: str


class MergeRequest(Struct, frozen=True, kw_only=True):
    iid: int
    web_url: str
    state: str
    source_branch: str
    target_branch: str
    target_project_id: int
    source_project_id: int | None = None
    sha: str | None = None
    title: str = ""
    description: str | None = None
    author: User | None = None
    diff_refs: DiffRefs | None = None
    allow_collaboration: bool | None = None


class _End(Struct, frozen=True):
    line_code: str = ""
    new_line: int | None = None

    @property
    def line(self) -> int | None:
        """The line's number; its code, which older servers send alone, ends with it."""
        last = self.line_code.rpartition("_")[2]
        return self.new_line or (int(last) if last.isdecimal() else None)


class _Range(Struct, frozen=True):
    start: _End = _End()


class NotePosition(Struct, frozen=True, kw_only=True):
    head_sha: str | None = None
    position_type: str = ""
    new_path: str | None = None
    old_path: str | None = None
    new_line: int | None = None
    line_range: _Range | None = None


class Note(Struct, frozen=True, kw_only=True):
    id: int
    body: str
    author: User | None = None
    system: bool = False
    internal: bool = False
    """Only members see it."""
    confidential: bool | None = None
    """The same, as older servers call it."""
    resolvable: bool = False
    resolved: bool | None = None
    resolved_by: User | None = None
    position: NotePosition | None = None


class Discussion(Struct, frozen=True):
    id: str
    individual_note: bool
    notes: list[Note]


class _Version(Struct, frozen=True):
    head_commit_sha: str | None
    base_commit_sha: str | None
    start_commit_sha: str | None


class Pipeline(Struct, frozen=True, kw_only=True):
    id: int
    sha: str
    ref: str
    project_id: int | None = None


class GitlabStatus(Struct, frozen=True):
    name: str
    status: str
    description: str | None = None


class _Made(Struct, frozen=True):
    id: int | str


class _Project(Struct, frozen=True):
    path_with_namespace: str = ""
    resolve_outdated_diff_discussions: bool | None = True


class MergeRequestsApi:
    def __init__(self, project: GitlabProject) -> None:
        self.project = project

    async def read_request(self, number: int) -> MergeRequest:
        return await self.project.send("GET", f"merge_requests/{number}", MergeRequest)

    async def open_request(self, content: dict[str, Any]) -> MergeRequest:
        """Open one; raise ResponseLost if it may be open or not."""
        return await self.project.create("merge_requests", content, MergeRequest)

    async def edit_request(self, number: int, content: dict[str, Any]) -> None:
        await self.project.send("PUT", f"merge_requests/{number}", Any, json=content)

    async def find_requests(self, branch: str, state: str = "opened") -> list[MergeRequest]:
        """Return the merge requests of a branch of the project itself."""
        params = {"source_branch": branch, "state": state}
        found = await self.project.read_all("merge_requests", params, MergeRequest)
        return [each for each in found if each.source_project_id == each.target_project_id]

    async def find_refs(self, number: int, head: str) -> DiffRefs | None:
        """Return the commits of the diff to this head, or None as long as GitLab has none."""
        path = f"merge_requests/{number}/versions"
        for each in await self.project.read_all(path, {}, _Version):
            base, start = each.base_commit_sha, each.start_commit_sha
            if each.head_commit_sha == head and base and start:
                return DiffRefs(base, start, head)
        return None

    async def list_discussions(self, number: int) -> list[Discussion]:
        """Return each discussion once: pages move while they are read."""
        path = f"merge_requests/{number}/discussions"
        found = await self.project.read_all(path, {}, Discussion)
        return list({each.id: each for each in found}.values())

    async def is_bot(self, user: int) -> bool:
        """Return whether a user is a program; False if the token may not see that."""
        call = ApiCall(method="GET", path=f"/users/{user}")
        try:
            return (await self.project.rest.request(call, User)).value.bot
        except RequestRefused:
            return False

    async def create(self, number: int, below: str, content: dict[str, Any]) -> None:
        await self.project.create(f"merge_requests/{number}/{below}", content, _Made)

    async def update(self, number: int, below: str, content: dict[str, Any]) -> None:
        await self.project.send("PUT", f"merge_requests/{number}/{below}", Any, json=content)

    async def delete(self, number: int, below: str) -> None:
        await self.project.delete(f"merge_requests/{number}/{below}")

    async def read_name(self) -> str:
        """Return GROUP/NAME of the project, or "" if the token may not see it."""
        return (await self._read_project()).path_with_namespace

    async def resolves_outdated(self) -> bool:
        """Return whether a push resolves the threads whose lines it changes, in the name of the
        user who pushes.
        """
        return bool((await self._read_project()).resolve_outdated_diff_discussions)

    async def _read_project(self) -> _Project:
        try:
            return await self.project.send("GET", "", _Project)
        except RequestRefused:
            return _Project()

    async def find_pipeline(self, number: int, commit: str) -> Pipeline | None:
        """Return the newest pipeline of the merge request for a commit, or None."""
        try:
            found = await self.project.read_all(f"merge_requests/{number}/pipelines", {}, Pipeline)
        except RequestRefused:
            return None
        ours = [each for each in found if each.sha == commit]
        return max(ours, key=lambda each: each.id, default=None)

    async def list_statuses(self, commit: str, name: str) -> list[GitlabStatus]:
        """Return the latest statuses of this name."""
        return await self.project.read_all(
            f"repository/commits/{commit}/statuses", {"name": name}, GitlabStatus
        )

    async def set_status(self, commit: str, content: dict[str, Any]) -> None:
        await self.project.create(f"statuses/{commit}", content, _Made)
