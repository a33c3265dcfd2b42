"""Updates of a pull request on Gitea or Forgejo, and the comments that they differ from."""

from typing import Any

from punchlist.adapters.forges.board_writer import NotPlaced
from punchlist.adapters.forges.gitea.api import GiteaApi
from punchlist.adapters.forges.gitea.reader import GiteaReader, ThreadPlace, add_target
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


class GiteaUpdates:
    needs = "it needs the scopes write:repository and write:issue, and a user who may write"

    def __init__(self, api: GiteaApi, name: str) -> None:
        self.name = name
        self._api = api
        self._reader = GiteaReader(api)

    async def read_comments(self, pull: PullRequest) -> Conversation:
        return await self._reader.read_comments(pull)

    async def perform(self, pull: PullRequest, update: AnyUpdate) -> None:
        api, number = self._api, pull.number
        match update:
            case PostSummary(body=body):
                await api.create(f"issues/{number}/comments", {"body": body})
            case PostThread(thread=thread):
                if thread.line is None:
                    raise NotPlaced("there are no comments on whole files", _NOT_PLACED)
                place = ThreadPlace(thread.path, thread.line)
                await self._post_review(pull, place, thread.body)
            case PostReply(to=to, body=body):
                await self._reply(pull, to, body)
            case EditComment(id=id_, body=body):
                target = self._reader.answers.get(id_)
                text = add_target(body, target) if target else body
                await api.update(f"issues/comments/{id_}", {"body": text})
            case DeleteComment(id=id_):
                await api.delete(f"issues/comments/{id_}")
            case SetResolved(thread=thread, resolved=resolved):
                await api.set_resolved(thread, resolved=resolved)

    async def _post_review(self, pull: PullRequest, place: ThreadPlace, body: str) -> None:
        """Post a review with one comment."""
        side = "old_position" if place.old else "new_position"
        comment: dict[str, Any] = {"path": place.path, "body": body, side: place.line}
        content = {"event": "COMMENT", "commit_id": pull.head, "comments": [comment]}
        try:
            await self._api.create(f"pulls/{pull.number}/reviews", content)
        except RequestRefused as refused:
            if refused.status != _NOT_PLACED:
                raise
            raise NotPlaced(str(refused), refused.status) from refused

    async def _reply(self, pull: PullRequest, to: str, body: str) -> None:
        """Answer in the thread, or at its line where the API has no answers."""
        if (await self._api.read_abilities()).reply:
            await self._api.create(f"pulls/{pull.number}/comments/{to}/replies", {"body": body})
        elif place := self._reader.places.get(to):
            await self._post_review(pull, place, add_target(body, to))
