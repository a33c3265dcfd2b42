"""Stacked merge requests on GitLab."""

from collections.abc import Mapping

from punchlist.adapters.forges.gitlab.api import MergeRequest, MergeRequestsApi
from punchlist.views.pulls.markup import GITLAB
from punchlist.views.pulls.stack import StackBoard, StackedPull, is_marked

_FIELDS = {"title": "title", "body": "description", "base": "target_branch"}


class GitlabStacks:
    name = "GitLab"
    needs = "the token needs the scope api and at least the role Developer"

    def __init__(self, api: MergeRequestsApi) -> None:
        self._api = api

    async def list_stacks(self, branch: str) -> list[StackedPull]:
        found = await self._api.find_requests(branch, "all")
        viewer = (await self._api.project.read_user()).id if found else 0
        return [_make_stack(each, viewer, branch) for each in found]

    async def open_stack(self, board: StackBoard) -> StackedPull:
        content = {"title": board.title, "description": GITLAB.finish(board.body)}
        content |= {"source_branch": board.branch, "target_branch": board.base_name}
        made = await self._api.open_request(content)
        return _make_stack(made, made.author.id if made.author else 0, board.branch)

    async def edit_stack(self, number: int, changes: Mapping[str, str]) -> None:
        content = {_FIELDS[key]: value for key, value in changes.items() if key in _FIELDS}
        if "description" in content:
            content["description"] = GITLAB.finish(content["description"])
        content |= {"state_event": "close"} if "state" in changes else {}
        await self._api.edit_request(number, content)

    async def comment_stack(self, number: int, body: str) -> None:
        await self._api.create(number, "notes", {"body": GITLAB.finish(body)})


def _make_stack(found: MergeRequest, viewer: int, branch: str) -> StackedPull:
    body = found.description or ""
    ours = found.author is not None and found.author.id == viewer
    return StackedPull(
        number=found.iid,
        url=found.web_url,
        title=found.title,
        body=body,
        base_name=found.target_branch,
        open=found.state == "opened",
        merged=found.state == "merged",
        own=ours and is_marked(body, branch),
    )
