"""The port to git."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Pristine


class Repository(Protocol):
    """What a run needs of git, on branches of its own."""

    async def made(self, branch: str, parent: str, action: str) -> tuple[str, ...]:
        """The commits above `parent` that this action made before, oldest first; what is there
        needs nobody's leave again.
        """
        ...

    async def commit_chain(
        self, branch: str, parent: str, commits: Sequence["Draft"], action: str
    ) -> tuple[str, ...]:
        """One commit per draft on `branch` above `parent`, all or none; the same `action` again
        returns the same commits.
        """
        ...

    async def publish(self, branch: str) -> None:
        """Makes the branch visible in the user's repository; nothing else there changes."""
        ...

    async def text(self, commit: str, path: str) -> str | None:
        """A file of a commit as text; None where there is no regular file."""
        ...

    async def diff(self, old: str, new: str, paths: Sequence[str] | None = None) -> str:
        """What changed between two commits as a unified diff, of these files or of all."""
        ...

    async def hook(
        self, name: str, commit: str, patches: Sequence[Patch], *, pristine: Pristine | None
    ) -> "Heard":
        """Asks a hook of the user's repository about the patched tree, steered by pristine files;
        None: it must not be run.
        """
        ...


class Heard(Struct, frozen=True):
    """What came of asking a hook: what it said if it `refused`, or that there is one and it was not
    asked (`unheard`).
    """

    refused: str = ""
    unheard: bool = False


class Draft(Struct, frozen=True):
    """A commit to be made: the patch is against the parent of the whole chain."""

    message: str
    patch: Patch
