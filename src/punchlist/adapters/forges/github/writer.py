"""Make a pull request look like a board.

GitHub has no idempotency key, and its lists lag. So: read, do what differs, never post the same
again in one sitting; after a lost response look for it before posting again; at the end delete
what is there twice.
"""

from typing import Any

from msgspec import Struct

from punchlist.adapters.forges.github.api import PullsApi
from punchlist.adapters.forges.github.reader import ConversationReader
from punchlist.adapters.trackers.github.rest import RequestRefused, ResponseLost
from punchlist.adapters.trackers.github.retry import RetryBudget, Unavailable
from punchlist.errors import ToolError
from punchlist.ports.forge.forge import ShownBoard
from punchlist.views.pulls.board import Board
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.difference import (
    AnyUpdate,
    DeleteComment,
    EditComment,
    PostReply,
    PostSummary,
    PostThread,
    SetResolved,
    plan_updates,
)

_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for what a lost request may have posted."""
_ROUNDS = 12
_NOT_PLACED = 422
_GONE = 404
_FORBIDDEN = 403
_POSTS = (PostSummary, PostThread, PostReply)


class _Progress(Struct):
    """What was done in this sitting."""

    done: list[str] = []
    lost: dict[str, int] = {}
    """By update whose response was lost: how often it was looked for."""
    skipped: set[str] = set()
    unplaced: set[str] = set()
    notes: dict[str, None] = {}


class BoardWriter:
    """`posted`: what was posted before by this process, by name; lists may not show it yet."""

    def __init__(
        self, api: PullsApi, patience: RetryBudget, pull: PullRequest, posted: set[str]
    ) -> None:
        self._api = api
        self._patience = patience
        self._pull = pull
        self._posted = posted
        self._progress = _Progress()

    async def show(self, board: Board) -> ShownBoard:
        """Do what differs until nothing does; raise Unavailable if GitHub refuses all."""
        progress = self._progress
        reader = ConversationReader(self._api)
        for _ in range(_ROUNDS):
            now = await reader.read_comments(self._pull)
            updates = [each for each in plan_updates(board, now) if self._is_due(each)]
            if not updates:
                break
            trouble = await self._perform_all(updates)
            if trouble is not None:
                looks = min(max(progress.lost.values(), default=0), len(_LOOKS) - 1)
                await self._patience.wait(_LOOKS[looks], trouble)
        else:
            raise Unavailable("GitHub lost too many requests; the pull request is shown in part")
        return ShownBoard(
            updates=tuple(progress.done),
            unplaced=frozenset(progress.unplaced),
            notes=tuple(progress.notes),
        )

    def _is_due(self, update: AnyUpdate) -> bool:
        """Return whether it is to be done now: not again what was done, however old the list."""
        return update.about not in self._progress.skipped | self._posted

    async def _perform_all(self, updates: list[AnyUpdate]) -> ToolError | None:
        """Do the updates; return the trouble after which the pull request is to be read again."""
        progress = self._progress
        for update in updates:
            name = update.about
            if name in progress.lost and isinstance(update, _POSTS):
                progress.lost[name] += 1
                if progress.lost[name] < len(_LOOKS):
                    return ResponseLost(f"{name}: it is not known whether it was posted")
                progress.lost.pop(name)
            try:
                await self._perform(update)
            except ResponseLost as lost:
                progress.lost.setdefault(name, 0)
                return lost
            except RequestRefused as refused:
                self._note_refusal(update, refused)
            else:
                progress.done.append(name)
                self._posted |= {name} if isinstance(update, _POSTS) else set()
            progress.skipped.add(name)
        return None

    async def _perform(self, update: AnyUpdate) -> None:
        api, number = self._api, self._pull.number
        match update:
            case PostSummary(body=body):
                await api.create(f"issues/{number}/comments", {"body": body})
            case PostThread():
                await self._post_thread(update)
            case PostReply(to=to, body=body):
                await api.create(f"pulls/{number}/comments/{to}/replies", {"body": body})
            case EditComment(id=id_, body=body, top=top):
                await api.update(f"{_folder(top=top)}/{id_}", {"body": body})
            case DeleteComment(id=id_, top=top):
                await api.delete(f"{_folder(top=top)}/{id_}")
            case SetResolved(thread=thread, resolved=resolved):
                await api.set_resolved(thread, resolved=resolved)

    async def _post_thread(self, update: PostThread) -> None:
        """Post at the lines; at the file if GitHub does not take these."""
        thread, path = update.thread, f"pulls/{self._pull.number}/comments"
        place: dict[str, Any] = {
            "body": thread.body,
            "commit_id": self._pull.head,
            "path": thread.path,
        }
        lines: dict[str, Any] = {"line": thread.line, "side": "RIGHT"}
        if thread.first is not None:
            lines |= {"start_line": thread.first, "start_side": "RIGHT"}
        if thread.line is not None:
            try:
                await self._api.create(path, place | lines)
            except RequestRefused as refused:
                if refused.status != _NOT_PLACED:
                    raise
            else:
                return
        await self._api.create(path, place | {"subject_type": "file"})

    def _note_refusal(self, update: AnyUpdate, refused: RequestRefused) -> None:
        """Note what GitHub refuses of one update; raise Unavailable if it would refuse all."""
        progress = self._progress
        if isinstance(update, PostThread) and refused.status == _NOT_PLACED:
            progress.unplaced.add(update.thread.key)
        elif isinstance(update, SetResolved):
            progress.notes["the token may not resolve threads; they have a reply alone"] = None
        elif refused.status != _GONE:
            if refused.status == _FORBIDDEN:
                hint = "it needs to write pull requests and issues"
                raise Unavailable(f"{refused}", hint=hint) from refused
            progress.notes[f"{update.about}: {refused}"] = None


def _folder(*, top: bool) -> str:
    return "issues/comments" if top else "pulls/comments"
