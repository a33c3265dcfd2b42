"""Updates of a merge request, and the comments that they differ from."""

from hashlib import sha1
from typing import Any

from punchlist.adapters.forges.board_writer import NotPlaced
from punchlist.adapters.forges.gitlab.api import DiffRefs, MergeRequestsApi
from punchlist.adapters.forges.gitlab.reader import DiscussionReader
from punchlist.adapters.rest.client import RequestRefused
from punchlist.adapters.rest.retry import RetryBudget, Unavailable
from punchlist.views.pulls.board import BoardThread
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

_REFUSED_PLACES = (400, 422)
_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for the diff of a new head, which GitLab makes some time after a push.
"""


class GitlabUpdates:
    name = "GitLab"
    needs = "it needs the scope api, and at least the role Reporter"

    def __init__(self, api: MergeRequestsApi, patience: RetryBudget) -> None:
        self._api = api
        self._patience = patience
        self._refs: DiffRefs | None = None

    async def read_comments(self, pull: PullRequest) -> Conversation:
        return await DiscussionReader(self._api).read_comments(pull)

    async def perform(self, pull: PullRequest, update: AnyUpdate) -> None:
        api, number = self._api, pull.number
        match update:
            case PostSummary(body=body):
                await api.create(number, "notes", {"body": pull.markup.finish(body)})
            case PostThread(thread=thread):
                await self._post_thread(pull, thread)
            case PostReply(thread=thread, body=body):
                path = f"discussions/{thread}/notes"
                await api.create(number, path, {"body": pull.markup.finish(body)})
            case EditComment(id=id_, body=body):
                await api.update(number, f"notes/{id_}", {"body": pull.markup.finish(body)})
            case DeleteComment(id=id_):
                await api.delete(number, f"notes/{id_}")
            case SetResolved(thread=thread, resolved=resolved):
                await api.update(number, f"discussions/{thread}", {"resolved": resolved})

    async def _post_thread(self, pull: PullRequest, thread: BoardThread) -> None:
        """Post at the lines; at the file if GitLab does not take these."""
        refs = await self._find_refs(pull)
        place = {
            "base_sha": refs.base_sha,
            "start_sha": refs.start_sha,
            "head_sha": refs.head_sha,
            "new_path": thread.path,
            "old_path": thread.old_path or thread.path,
        }
        tries: list[dict[str, Any]] = [place | {"position_type": "file"}]
        if thread.line is not None:
            tries.insert(0, place | _place_lines(thread, thread.line))
        for position in tries:
            content = {"body": pull.markup.finish(thread.body), "position": position}
            try:
                await self._api.create(pull.number, "discussions", content)
            except RequestRefused as refused:
                if refused.status not in _REFUSED_PLACES:
                    raise
                trouble = refused
            else:
                return
        raise NotPlaced(str(trouble), trouble.status) from trouble

    async def _find_refs(self, pull: PullRequest) -> DiffRefs:
        missing = Unavailable(f"GitLab has no diff of {pull.head[:12]} yet", hint="try again")
        for seconds in (0.0, *_LOOKS):
            if self._refs is not None:
                return self._refs
            if seconds:
                await self._patience.wait(seconds, missing)
            self._refs = await self._api.find_refs(pull.number, pull.head)
        if self._refs is None:
            raise missing
        return self._refs


def _place_lines(thread: BoardThread, line: int) -> dict[str, Any]:
    """Return where the lines are: an unchanged line by the number that it had before, too."""
    place: dict[str, Any] = {"position_type": "text", "new_line": line}
    if line in thread.old_lines:
        place["old_line"] = thread.old_lines[line]
    if thread.first is not None:
        place["line_range"] = {
            "start": _describe_line(thread, thread.first),
            "end": _describe_line(thread, line),
        }
    return place


def _describe_line(thread: BoardThread, line: int) -> dict[str, Any]:
    old = thread.old_lines.get(line)
    name = sha1(thread.path.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
    found = {"line_code": f"{name}_{old or 0}_{line}", "new_line": line}
    return found | ({"type": "new"} if old is None else {"type": "old", "old_line": old})
