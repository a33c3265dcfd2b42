"""Stacked pull requests on GitHub."""

from collections.abc import Mapping

from punchlist.adapters.forges.github.api import Pull, PullsApi
from punchlist.adapters.forges.github.reader import plain_login
from punchlist.views.pulls.stack import StackBoard, StackedPull, is_marked


class GithubStacks:
    name = "GitHub"
    needs = (
        "the token needs contents: write and pull-requests: write, and in a job the repository must"
        " allow GitHub Actions to create pull requests"
    )

    def __init__(self, api: PullsApi) -> None:
        self._api = api

    async def list_stacks(self, branch: str) -> list[StackedPull]:
        found = await self._api.find_pulls(branch, "all")
        viewer = plain_login(await self._api.read_viewer()) if found else ""
        return [_make_stack(each, viewer, branch) for each in found]

    async def open_stack(self, board: StackBoard) -> StackedPull:
        content = {"title": board.title, "body": board.body}
        content |= {"head": board.branch, "base": board.base_name}
        made = await self._api.open_pull(content)
        return _make_stack(made, plain_login(made.user.login if made.user else ""), board.branch)

    async def edit_stack(self, number: int, changes: Mapping[str, str]) -> None:
        await self._api.update(f"pulls/{number}", dict(changes))

    async def comment_stack(self, number: int, body: str) -> None:
        await self._api.create(f"issues/{number}/comments", {"body": body})


def _make_stack(pull: Pull, viewer: str, branch: str) -> StackedPull:
    author, body = plain_login(pull.user.login) if pull.user else "", pull.body or ""
    return StackedPull(
        number=pull.number,
        url=pull.html_url,
        title=pull.title,
        body=body,
        base_name=pull.base.ref,
        open=pull.state == "open",
        merged=pull.merged_at is not None,
        own=author == viewer and is_marked(body, branch),
    )
