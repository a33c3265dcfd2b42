"""Stacked pull requests on Gitea and Forgejo."""

from collections.abc import Mapping

from punchlist.adapters.forges.gitea.api import GiteaApi, GiteaPull
from punchlist.views.pulls.stack import StackBoard, StackedPull, is_marked


class GiteaStacks:
    needs = "the token needs write:repository and write:issue, and its user the right to write"

    def __init__(self, api: GiteaApi, name: str) -> None:
        self._api = api
        self.name = name

    async def list_stacks(self, branch: str) -> list[StackedPull]:
        """Return those of the branch. Older servers do not know `poster`, and send all."""
        viewer = await self._api.read_viewer()
        found = await self._api.list_pulls(state="all", poster=viewer)
        here = self._api.repository.casefold()
        return [
            _make_stack(each, viewer, branch)
            for each in found
            if branch in (each.head.label, each.head.ref)
            and (each.head.repo is None or each.head.repo.full_name.casefold() == here)
        ]

    async def open_stack(self, board: StackBoard) -> StackedPull:
        content = {"title": board.title, "body": board.body}
        content |= {"head": board.branch, "base": board.base_name}
        made = await self._api.open_pull(content)
        return _make_stack(made, made.user.login if made.user else "", board.branch)

    async def edit_stack(self, number: int, changes: Mapping[str, str]) -> None:
        await self._api.update(f"pulls/{number}", dict(changes))

    async def comment_stack(self, number: int, body: str) -> None:
        await self._api.create(f"issues/{number}/comments", {"body": body})


def _make_stack(pull: GiteaPull, viewer: str, branch: str) -> StackedPull:
    return StackedPull(
        number=pull.number,
        url=pull.html_url,
        title=pull.title,
        body=pull.body,
        base_name=pull.base.ref,
        open=pull.state == "open",
        merged=pull.merged,
        own=pull.user is not None and pull.user.login == viewer and is_marked(pull.body, branch),
    )
