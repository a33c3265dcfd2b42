"""The port to git."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.patch.line_regions import ChangeLines, Region
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Pristine


class Repository(Protocol):
    """Git operations of a run, on its own branches."""

    async def find_commits(self, branch: str, parent: str, action: str) -> tuple[str, ...]:
        """Return the commits above `parent` of an earlier try of this action, oldest first."""
        ...

    async def commit_chain(
        self, branch: str, parent: str, commits: Sequence["Draft"], action: str
    ) -> tuple[str, ...]:
        """Create one commit per draft on `branch` above `parent`, all or none; get-or-create by
        `action`.
        """
        ...

    async def read_chain(self, parent: str, tip: str) -> tuple["MadeCommit", ...]:
        """Return the commits above `parent` up to `tip`, oldest first, with what they change."""
        ...

    async def arrange_chain(
        self, branch: str, parent: str, tip: str, commits: Sequence["RegionDraft"]
    ) -> tuple[str, ...]:
        """Create one commit per draft above `parent`, with the texts that the regions have at
        `tip`; the branch itself stays.
        """
        ...

    async def has_applied(self, commit: str) -> bool:
        """Return whether the user's checked-out branch contains the commit."""
        ...

    async def publish(self, branch: str, *, tip: str = "", replaces: str = "") -> None:
        """Make the branch, or another `tip` of it, visible in the user's repository in place of
        the tip `replaces`; nothing else there changes.
        """
        ...

    async def text(self, commit: str, path: str) -> str | None:
        """Return a file of a commit as text; None if there is no regular file."""
        ...

    async def tree_id(self, commit: str) -> str:
        """Return git's name of the commit's files: the same files have the same name."""
        ...

    async def diff(self, old: str, new: str, paths: Sequence[str] | None = None) -> str:
        """Return the unified diff between two commits, of these files or of all."""
        ...

    async def run_hook(
        self, name: str, commit: str, patches: Sequence[Patch], *, pristine: Pristine | None
    ) -> "Heard":
        """Run a hook of the user's repository on the patched tree, with its settings from
        `pristine`; None: the hook must not be run.
        """
        ...

    def write_checkout_file(self, path: str, content: bytes, heading: bytes) -> None:
        """Write a file into the user's checkout; one that is there is replaced only if its first
        line holds `heading`.
        """
        ...


class MadeCommit(Struct, frozen=True):
    commit: str
    message: str
    lines: ChangeLines


class RegionDraft(Struct, frozen=True):
    """A commit to be made of regions of a chain of commits."""

    message: str
    regions: tuple[Region, ...]


class Heard(Struct, frozen=True):
    """Result of a hook: its output if it `refused`; `unheard`: there is one that was not run."""

    refused: str = ""
    unheard: bool = False


class Draft(Struct, frozen=True):
    """A commit to be made: the patch is against the parent of the whole chain."""

    message: str
    patch: Patch
