"""Files of a commit in a folder of our own, and who lends them."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from punchlist.model.patch.patch import Patch


class Tree(Protocol):
    """Files of one commit, with patches laid on, in a folder of our own."""

    @property
    def root(self) -> Path: ...

    @property
    def commit(self) -> str: ...

    def text(self, path: str) -> str | None:
        """A file as text (UTF-8, odd bytes kept as surrogates, line ends kept); None where there is
        no regular file.
        """
        ...

    def files(self) -> Sequence[str]:
        """Every file git tracks there, links and submodules left out, in git's order."""
        ...


class Pristine(Struct, frozen=True, kw_only=True):
    """Which files of a tree are as in `origin`, whatever the commit and the patches made of them;
    patterns as in Protected.

    `alone`: there are no such files but those of `origin`. `kept`: those that only the commit has
    stay too, as it has them. `opened`: paths that are none of this, and as the commit and the
    patches want them.
    """

    origin: str
    alone: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    opened: frozenset[str] = frozenset()


class Trees(Protocol):
    """Lends isolated work trees; the user's checkout is never one of them."""

    def at(
        self,
        commit: str,
        patches: Iterable[Patch] = (),
        *,
        pristine: Pristine | None = None,
        apart: bool = False,
    ) -> AbstractAsyncContextManager[Tree]:
        """A tree of `commit` with `patches` on it, except for what is pristine. One that is `apart`
        is gone afterwards, and no other is ever in its place: it is for those who may go on writing
        there.
        """
        ...

    def kept(
        self, commit: str, name: str, patches: Iterable[Patch] = (), *, fresh: bool = True
    ) -> AbstractAsyncContextManager[Tree]:
        """A tree under a name of its own, for work that is dear: after a kill it is found as it was
        left, unless `fresh` asks for a clean one. It is gone when the block ends.
        """
        ...

    async def changes(self, tree: Tree) -> Patch:
        """All that was done to a lent tree since it was lent, whoever did it and however: new,
        edited, staged, committed, renamed, deleted and mode-changed files. The patch is against the
        tree's commit; what was laid on it counts as done.
        """
        ...
