"""Make a pull request look like a board.

Forges have no idempotency key, and their lists lag. So: read, do what differs, never post the same
again in one sitting; after a lost response look for it before posting again; at the end delete
what is there twice.
"""

from typing import Protocol

from msgspec import Struct

from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget, Unavailable
from punchlist.errors import ToolError
from punchlist.ports.forge.forge import ShownBoard, WriteRefused
from punchlist.views.pulls.board import Board
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.difference import (
    AnyUpdate,
    PostReply,
    PostSummary,
    PostThread,
    SetResolved,
    plan_updates,
)

_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for what a lost request may have posted."""
_ROUNDS = 12
_GONE = 404
_FORBIDDEN = 403
_POSTS = (PostSummary, PostThread, PostReply)


class NotPlaced(RequestRefused):
    """The forge takes the thread neither at its lines nor at its file."""


class BoardApi(Protocol):
    """What showing a board needs of a forge. `needs`: what its token must be allowed, in words."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> str: ...

    async def read_comments(self, pull: PullRequest) -> Conversation:
        """Return threads, comments and reviews only."""
        ...

    async def perform(self, pull: PullRequest, update: AnyUpdate) -> None:
        """Do one update; raise NotPlaced, RequestRefused, ResponseLost or Unavailable."""
        ...


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
        self, api: BoardApi, patience: RetryBudget, pull: PullRequest, posted: set[str]
    ) -> None:
        self._api = api
        self._patience = patience
        self._pull = pull
        self._posted = posted
        self._progress = _Progress()

    async def show(self, board: Board) -> ShownBoard:
        """Do what differs until nothing does; raise Unavailable if the forge refuses all."""
        progress = self._progress
        for _ in range(_ROUNDS):
            now = await self._api.read_comments(self._pull)
            updates = [each for each in plan_updates(board, now) if self._is_due(each)]
            if not updates:
                break
            trouble = await self._perform_all(updates)
            if trouble is not None:
                looks = min(max(progress.lost.values(), default=0), len(_LOOKS) - 1)
                await self._patience.wait(_LOOKS[looks], trouble)
        else:
            why = f"{self._api.name} lost too many requests; the pull request is shown in part"
            raise Unavailable(why)
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
                await self._api.perform(self._pull, update)
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

    def _note_refusal(self, update: AnyUpdate, refused: RequestRefused) -> None:
        """Note what the forge refuses of one update; raise WriteRefused if it would refuse all."""
        progress = self._progress
        if isinstance(update, PostThread) and isinstance(refused, NotPlaced):
            progress.unplaced.add(update.thread.key)
        elif isinstance(update, SetResolved):
            progress.notes["the token may not resolve threads; they have a reply alone"] = None
        elif refused.status == _FORBIDDEN or (refused.status == _GONE and _is_first(update)):
            raise WriteRefused(f"{refused}", hint=self._api.needs) from refused
        elif refused.status != _GONE:
            progress.notes[f"{update.about}: {refused}"] = None


def _is_first(update: AnyUpdate) -> bool:
    """Return whether it needs no comment that may be gone: not found then means not allowed."""
    return isinstance(update, PostSummary | PostThread)
