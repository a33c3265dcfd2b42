"""Merge requests on GitLab."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from punchlist.adapters.forges.board_writer import BoardWriter
from punchlist.adapters.forges.gitlab.api import MergeRequest, MergeRequestsApi
from punchlist.adapters.forges.gitlab.reader import DiscussionReader
from punchlist.adapters.forges.gitlab.stacks import GitlabStacks
from punchlist.adapters.forges.gitlab.statuses import StatusPlace, StatusWriter
from punchlist.adapters.forges.gitlab.updates import GitlabUpdates
from punchlist.adapters.forges.stack_writer import StackWriter
from punchlist.adapters.rest.client import RequestRefused, RestClient
from punchlist.adapters.rest.gitlab import GitlabProject
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import GONE, NotThere, Pacing, Unavailable
from punchlist.ports.forge.forge import ShownBoard, ShownStack
from punchlist.views.pulls.board import Board, CheckResult
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.markup import GITLAB
from punchlist.views.pulls.stack import StackBoard, StackedPull


class GitlabForge:
    """Merge requests of one project."""

    name = "gitlab"

    def __init__(self, place: ForgePlace, pacing: Pacing | None = None) -> None:
        self._place = place
        self._pacing = pacing or Pacing()
        self._posted: dict[int, set[str]] = {}
        self._sources: dict[int, int | None] = {}

    async def find_pull(self, branch: str) -> int | None:
        async with self._open_api() as (api, _):
            found = await api.find_requests(branch)
            return found[0].iid if found else None

    async def read_viewer(self) -> str:
        async with self._open_api() as (api, _):
            return (await api.project.read_user()).username

    async def change(self, number: int) -> PullRequest:
        async with self._open_api() as (api, _):
            name = f"{api.project.name} merge request {number}"
            try:
                found = await api.read_request(number)
            except RequestRefused as refused:
                hint = "does it exist, and may the token see it?"
                kind = NotThere if refused.status in GONE else Unavailable
                raise kind(f"{name}: {refused}", hint=hint) from refused
            if not found.sha or found.diff_refs is None:
                raise Unavailable(f"{name}: GitLab has no diff of it yet", hint="try again")
            fork = found.source_project_id != found.target_project_id
            self._sources[number] = found.source_project_id if fork else None
            return PullRequest(
                number=found.iid,
                repository=api.project.name,
                url=found.web_url,
                base=found.diff_refs.start_sha,
                head=found.sha,
                base_name=found.target_branch,
                head_name=found.source_branch,
                ref=f"refs/merge-requests/{found.iid}/head",
                title=found.title,
                body=found.description or "",
                author=found.author.username if found.author else "",
                fork=fork,
                push_to=await self._find_fork(api, found) if fork else "",
                open=found.state == "opened",
                markup=GITLAB,
            )

    async def heard(self, pull: PullRequest) -> Conversation:
        async with self._open_api() as (api, _):
            return await DiscussionReader(api).read_all(pull)

    async def show(self, pull: PullRequest, board: Board) -> ShownBoard:
        async with self._open_api() as (api, rest):
            posted = self._posted.setdefault(pull.number, set())
            updates = GitlabUpdates(api, rest.patience)
            shown = await BoardWriter(updates, rest.patience, pull, posted).show(board)
        notes = await self.conclude(pull, board.check)
        return ShownBoard(
            updates=shown.updates, unplaced=shown.unplaced, notes=(*shown.notes, *notes)
        )

    async def find_stacks(self, branch: str) -> tuple[StackedPull, ...]:
        async with self._open_api() as (api, rest):
            return await StackWriter(GitlabStacks(api), rest.patience).find(branch)

    async def show_stack(self, board: StackBoard) -> ShownStack:
        async with self._open_api() as (api, rest):
            return await StackWriter(GitlabStacks(api), rest.patience).show(board)

    async def conclude(self, pull: PullRequest, check: CheckResult) -> tuple[str, ...]:
        """Set the status in the merge request's pipeline, else in the branch's project."""
        async with self._open_api() as (api, rest):
            project, place = self._sources.get(pull.number), StatusPlace(pull.head_name)
            if pipeline := await api.find_pipeline(pull.number, check.head):
                project = pipeline.project_id or project
                place = StatusPlace(pipeline.ref, pipeline.id)
            where = api if project is None else MergeRequestsApi(GitlabProject(rest, project))
            return await StatusWriter(where, rest.patience).conclude(check, place)

    async def make_git_login(self) -> dict[str, str]:
        return await self._place.make_git_login(self._pacing)

    async def _find_fork(self, api: MergeRequestsApi, found: MergeRequest) -> str:
        """Return the name of the fork if it may be pushed to, or ""."""
        if not found.allow_collaboration or found.source_project_id is None:
            return ""
        fork = MergeRequestsApi(GitlabProject(api.project.rest, found.source_project_id))
        name = await fork.read_name()
        return name if self._place.style.is_name(name) else ""

    @asynccontextmanager
    async def _open_api(self) -> AsyncIterator[tuple[MergeRequestsApi, RestClient]]:
        async with self._place.connect(self._pacing) as (rest, repository):
            yield MergeRequestsApi(GitlabProject(rest, repository)), rest
