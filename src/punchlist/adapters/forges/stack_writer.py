"""Make our stacked pull request look like its board.

Forges refuse a second open pull request for the same two branches. So opening one again after a
lost answer is safe: what is there already is found, or the forge says that it is.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget
from punchlist.errors import ToolError
from punchlist.ports.forge.forge import ShownStack
from punchlist.views.pulls.marks import clean_body
from punchlist.views.pulls.stack import StackBoard, StackedPull, end_body, end_comment

_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each further look for what a lost request may have opened."""
_EXISTING = (409, 422)
_OTHERS = "{} is a pull request from punchlist's branch, and not one of punchlist's: it is left"
_UNSHOWN = "the pull request with the fixes is open, and {} does not list it yet"


class StacksApi(Protocol):
    """What a stacked pull request needs of a forge. `needs`: what its token must be allowed."""

    @property
    def name(self) -> str: ...

    @property
    def needs(self) -> str: ...

    async def list_stacks(self, branch: str) -> list[StackedPull]:
        """Return the pull requests of a branch of the repository, open and closed."""
        ...

    async def open_stack(self, board: StackBoard) -> StackedPull:
        """Open it; raise RequestRefused or ResponseLost."""
        ...

    async def edit_stack(self, number: int, changes: Mapping[str, str]) -> None:
        """Change `title`, `body`, `base` or `state` (closed), all at once."""
        ...

    async def comment_stack(self, number: int, body: str) -> None: ...


class StackWriter:
    def __init__(self, api: StacksApi, patience: RetryBudget) -> None:
        self._api = api
        self._patience = patience

    async def find(self, branch: str) -> tuple[StackedPull, ...]:
        """Return our own ones, open and closed."""
        return tuple(each for each in await self._api.list_stacks(branch) if each.own)

    async def show(self, board: StackBoard) -> ShownStack:
        """Open, edit or close it. What the forge refuses is in the notes."""
        try:
            if board.open:
                return await self._show_open(board)
            have = [each for each in await self.find(board.branch) if each.open]
            return ShownStack(updates=tuple([await self._close(each, board.why) for each in have]))
        except RequestRefused as refused:
            why = f"the pull request with the fixes: {refused}; {self._api.needs}"
            return ShownStack(notes=(why,))

    async def _show_open(self, board: StackBoard) -> ShownStack:
        for pause in (*_LOOKS, None):
            listed = [each for each in await self._api.list_stacks(board.branch) if each.open]
            if have := [each for each in listed if each.own]:
                return await self._edit(have, board)
            if theirs := [each for each in listed if each.base_name == board.base_name]:
                return ShownStack(notes=(_OTHERS.format(theirs[0].url),))
            try:
                made = await self._api.open_stack(board)
            except RequestRefused as refused:
                if not _is_existing(refused):
                    raise
                trouble: ToolError = refused
            except ResponseLost as lost:
                trouble = lost
            else:
                about = f"open {board.branch} to {board.base_name}"
                return ShownStack(pull=made, updates=(about,))
            if pause is not None:
                await self._patience.wait(pause, trouble)
        if isinstance(trouble, ResponseLost):
            raise trouble
        return ShownStack(notes=(_UNSHOWN.format(self._api.name),))

    async def _edit(self, have: list[StackedPull], board: StackBoard) -> ShownStack:
        """Change what differs; of several, keep the first for this branch, and close the others."""
        keep = min(have, key=lambda each: (each.base_name != board.base_name, each.number))
        closed = [
            await self._close(each, f"there is {keep.url} for the same fixes")
            for each in have
            if each is not keep
        ]
        changes: dict[str, str] = {}
        if keep.title != board.title:
            changes["title"] = board.title
        if clean_body(keep.body) != clean_body(board.body):
            changes["body"] = board.body
        if keep.base_name != board.base_name:
            changes["base"] = board.base_name
        if changes:
            await self._api.edit_stack(keep.number, changes)
        edited = (f"edit {board.branch}",) if changes else ()
        return ShownStack(pull=keep, updates=(*edited, *closed))

    async def _close(self, stack: StackedPull, why: str) -> str:
        """Close it with the reason in its description, all at once, so that it never looks like one
        that a person closed; then say it in a comment as well, once.
        """
        body = end_body(stack, why)
        await self._api.edit_stack(stack.number, {"body": body, "state": "closed"})
        with suppress(RequestRefused, ResponseLost):  # the description says it, too
            await self._api.comment_stack(stack.number, end_comment(why))
        return f"close {stack.url}"


def _is_existing(refused: RequestRefused) -> bool:
    return refused.status in _EXISTING and "already exists" in str(refused)
