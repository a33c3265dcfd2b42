"""The port to the branch of ours that holds the fixes of a pull request."""

from collections.abc import Collection
from typing import Protocol


class FixBranch(Protocol):
    """Raises RepositoryError if the remote repository cannot be read."""

    async def read_tip(self) -> str:
        """Return the commit that the branch has in the remote repository now, or ""."""
        ...

    async def is_ours(self, tip: str, known: Collection[str]) -> bool:
        """Return whether no commit of others is lost if the branch has another tip than this.
        `known`: tips that punchlist is known to have pushed there.
        """
        ...

    async def push(self, tip: str, old: str) -> str:
        """Move the branch from `old`, "" if it is new, and from nothing else; return why it failed,
        or "".
        """
        ...

    async def delete(self, tip: str) -> str:
        """Delete the branch if it has this tip; return why it failed, or ""."""
        ...
