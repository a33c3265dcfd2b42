"""Updates of a pull request on GitHub, and the comments that they differ from."""

from typing import Any

from punchlist.adapters.forges.board_writer import NotPlaced
from punchlist.adapters.forges.github.api import PullsApi
from punchlist.adapters.forges.github.reader import ConversationReader
from punchlist.adapters.rest.client import RequestRefused
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.difference import (
    AnyUpdate,
    DeleteComment,
    EditComment,
    PostReply,
    PostSummary,
    PostThread,
    SetResolved,
)

_NOT_PLACED = 422


class GithubUpdates:
    name = "GitHub"
    needs = "it needs to write pull requests and issues"

    def __init__(self, api: PullsApi) -> None:
        self._api = api

    async def read_comments(self, pull: PullRequest) -> Conversation:
        return await ConversationReader(self._api).read_comments(pull)

    async def perform(self, pull: PullRequest, update: AnyUpdate) -> None:
        api, number = self._api, pull.number
        match update:
            case PostSummary(body=body):
                await api.create(f"issues/{number}/comments", {"body": body})
            case PostThread():
                await self._post_thread(pull, update)
            case PostReply(to=to, body=body):
                await api.create(f"pulls/{number}/comments/{to}/replies", {"body": body})
            case EditComment(id=id_, body=body, top=top):
                await api.update(f"{_folder(top=top)}/{id_}", {"body": body})
            case DeleteComment(id=id_, top=top):
                await api.delete(f"{_folder(top=top)}/{id_}")
            case SetResolved(thread=thread, resolved=resolved):
                await api.set_resolved(thread, resolved=resolved)

    async def _post_thread(self, pull: PullRequest, update: PostThread) -> None:
        """Post at the lines; at the file if GitHub does not take these."""
        thread, path = update.thread, f"pulls/{pull.number}/comments"
        place: dict[str, Any] = {"body": thread.body, "commit_id": pull.head, "path": thread.path}
        lines: dict[str, Any] = {"line": thread.line, "side": "RIGHT"}
        if thread.first is not None:
            lines |= {"start_line": thread.first, "start_side": "RIGHT"}
        tries = [place | lines] if thread.line is not None else []
        for content in (*tries, place | {"subject_type": "file"}):
            try:
                await self._api.create(path, content)
            except RequestRefused as refused:
                if refused.status != _NOT_PLACED:
                    raise
                trouble = refused
            else:
                return
        raise NotPlaced(str(trouble), trouble.status) from trouble


def _folder(*, top: bool) -> str:
    return "issues/comments" if top else "pulls/comments"
