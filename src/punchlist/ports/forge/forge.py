"""The port to a forge: reads a pull request, and makes it look like a board."""

from typing import Protocol

from msgspec import Struct

from punchlist.errors import ToolError
from punchlist.views.pulls.board import Board, CheckResult
from punchlist.views.pulls.conversation import Conversation, PullRequest
from punchlist.views.pulls.stack import StackBoard, StackedPull


class WriteRefused(ToolError):
    """The token may not write on the pull request."""


class ShownBoard(Struct, frozen=True, kw_only=True):
    """What was done on the forge, in words, and what it refused."""

    updates: tuple[str, ...] = ()
    unplaced: frozenset[str] = frozenset()
    """Keys of threads that the forge does not take at their line or file."""
    notes: tuple[str, ...] = ()


class ShownStack(Struct, frozen=True, kw_only=True):
    """Our stacked pull request, if it is open and known, what was done, and what was refused."""

    pull: StackedPull | None = None
    updates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Forge(Protocol):
    """Raises ToolError if the forge cannot be reached or refuses everything; `show` WriteRefused if
    the token may not write.
    """

    @property
    def name(self) -> str: ...

    async def find_pull(self, branch: str) -> int | None:
        """Return the number of the open pull request of a branch, or None; that of a fork is
        OWNER:BRANCH.
        """
        ...

    async def read_viewer(self) -> str:
        """Return the name of the token's user; that of an app without a suffix."""
        ...

    async def change(self, number: int) -> PullRequest: ...

    async def heard(self, pull: PullRequest) -> Conversation:
        """Return all that is said on it. There is no `since`: lists lag behind, and the ledger
        knows which orders were seen to.
        """
        ...

    async def show(self, pull: PullRequest, board: Board) -> ShownBoard:
        """Make the pull request look like the board, by difference to what is there, so that a
        killed process and a second one arrive at the same.
        """
        ...

    async def find_stacks(self, branch: str) -> tuple[StackedPull, ...]:
        """Return our own pull requests from a branch of ours, open and closed."""
        ...

    async def show_stack(self, board: StackBoard) -> ShownStack:
        """Open, edit or close the one pull request from our branch, by difference to what is there;
        what the forge refuses of it is in the notes.
        """
        ...

    async def conclude(self, pull: PullRequest, check: CheckResult) -> tuple[str, ...]:
        """Show our check of its commit; return notes."""
        ...

    async def make_git_login(self) -> dict[str, str]:
        """Return the variables with which git reaches the remote `origin` now; none where the
        user's own credentials count.
        """
        ...
