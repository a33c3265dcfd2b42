"""Ports of isolated work trees: the files of a commit in a folder of their own."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from punchlist.model.patch.patch import Patch


class Tree(Protocol):
    """Files of one commit with patches applied, in an isolated folder."""

    @property
    def root(self) -> Path: ...

    @property
    def commit(self) -> str: ...

    @property
    def resumed(self) -> bool:
        """Whether it has the work that was left in it, and not only the commit's files."""
        ...

    def text(self, path: str) -> str | None:
        """Return a file as text (UTF-8, invalid bytes as surrogates, line ends kept); None if there
        is no regular file.
        """
        ...

    def files(self) -> Sequence[str]:
        """Return all files that git tracks there, without links and submodules, in git's order."""
        ...


class Pristine(Struct, frozen=True, kw_only=True):
    """Which files of a tree come from `origin`, not from the commit or the patches; patterns as in
    Protected.

    `alone`: only the files of `origin` exist. `kept`: files that only the commit has stay
    too. `opened`: paths that are exempt, taken from the commit and the patches.
    """

    origin: str
    alone: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    opened: frozenset[str] = frozenset()


class Trees(Protocol):
    """Lends isolated work trees; never the user's checkout."""

    def open_tree(
        self,
        commit: str,
        patches: Iterable[Patch] = (),
        *,
        pristine: Pristine | None = None,
        apart: bool = False,
        shared: bool = False,
    ) -> AbstractAsyncContextManager[Tree]:
        """Lend a tree of `commit` with `patches` applied, except for `pristine` files. With
        `apart` the folder is deleted afterwards and never reused: its user may go on writing
        there. With `shared` its user writes nothing there: others who want the same files get
        the same folder, at the same time or later.
        """
        ...

    def resume_tree(
        self, commit: str, name: str, patches: Iterable[Patch] = (), *, fresh: bool = True
    ) -> AbstractAsyncContextManager[Tree]:
        """Lend a tree under a fixed name: after a kill it is reopened as it was left, unless
        `fresh`. It is deleted when the block ends.
        """
        ...

    async def collect_changes(self, tree: Tree) -> Patch:
        """Return everything that differs from the tree's commit as a patch (new, edited, staged,
        committed, renamed, deleted, mode-changed files), with the patches applied at the start.
        """
        ...
