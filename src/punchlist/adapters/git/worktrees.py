"""Work trees of the workshop: lent clean, used by one at a time, taken back and used again."""

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cached_property
from itertools import chain, count
from pathlib import Path

from punchlist.adapters.git.command import Entry, Git, speakable, text_of
from punchlist.adapters.git.overlay import Overlay, lay, overlay, real
from punchlist.adapters.git.tree_changes import taken
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import NO_ROOM, RepositoryError, StoreError
from punchlist.model.patch.patch import Patch
from punchlist.ports.tree import Pristine, Tree

_KEPT = "kept-"
"""How trees outside of the pool are called."""


class WorkTree:
    """A lent tree. Names that are not UTF-8 are in the folder, but not listed: no ledger could
    carry them.
    """

    def __init__(
        self, root: Path, commit: str, listing: dict[str, Entry], changes: Overlay
    ) -> None:
        self.root = root
        self.commit = commit
        self._listing = listing
        self._changes = changes

    def text(self, path: str) -> str | None:
        full = real(self.root, path)
        return text_of(full.read_bytes()) if full else None

    def files(self) -> Sequence[str]:
        return self._files

    @cached_property
    def _files(self) -> tuple[str, ...]:
        made = {path: laid.mode for path, laid in self._changes.items() if laid is not None}
        modes = {
            path: entry.mode for path, entry in self._listing.items() if path not in self._changes
        } | made
        found = (path for path, mode in modes.items() if mode.startswith("100") and speakable(path))
        return tuple(sorted(found)) if made.keys() - self._listing.keys() else tuple(found)


class Slot:
    """One place in the pool: a folder, and beside it, out of reach of what runs in the folder, its
    lock and its index.
    """

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.name = name
        self.root = workshop.trees.resolve() / name
        self.lock = self.root.with_suffix(".lock")
        self.index = self.root.with_suffix(".index")
        self._admin = workshop.git_dir.resolve() / "worktrees" / name
        self._git = Git(self.root, git_dir=self._admin)

    async def prepare(self, commit: str) -> None:
        """Exactly the files of a commit, whatever the last user left behind."""
        try:
            await self._fill(commit)
        except (RepositoryError, StoreError, OSError):
            self.scrap()
            await self._fill(commit)
        # Git inside the tree gets an index of its own: one it marked files in must not decide what
        # we restore.
        shutil.copyfile(self.index, self._admin / "index")

    async def _fill(self, commit: str) -> None:
        used = self.index.is_file() and self.root.is_dir()
        self._link(commit)
        env = {"GIT_INDEX_FILE": str(self.index)}
        if used:
            await self._git.out("clean", "-ffdxq", env=env)
        await self._git.out(
            "reset", "--hard", "--quiet", "--no-recurse-submodules", commit, env=env
        )

    def _link(self, commit: str) -> None:
        """Ties folder and repository together anew, so that nothing done to either
        end is believed.
        """
        shutil.rmtree(self._admin, ignore_errors=True)
        self._admin.mkdir(parents=True)
        dot_git = self.root / ".git"
        for name, content in {"HEAD": commit, "commondir": "../..", "gitdir": str(dot_git)}.items():
            (self._admin / name).write_bytes(os.fsencode(f"{content}\n"))
        self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)
        if self.root.is_symlink():
            self.root.unlink()
        self.root.mkdir(exist_ok=True)
        if dot_git.is_dir() and not dot_git.is_symlink():
            shutil.rmtree(dot_git)
        dot_git.unlink(missing_ok=True)
        dot_git.write_bytes(os.fsencode(f"gitdir: {self._admin}\n"))

    def scrap(self) -> None:
        """Removes the folder and all we know of it; folders somebody made unreadable are made
        readable first.
        """
        _make_removable(self.root)
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self._admin, ignore_errors=True)
        self.index.unlink(missing_ok=True)

    def take(self) -> int | None:
        """A descriptor that holds the slot until it is closed; None where another holds it. A crash
        lets go by itself.
        """
        fd = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), self.lock.stat()):
                return fd
        except (
            BlockingIOError,
            FileNotFoundError,
        ):  # held by another, or thrown away between our two looks
            pass
        os.close(fd)
        return None

    @contextmanager
    def held(self) -> Iterator[bool]:
        fd = self.take()
        try:
            yield fd is not None
        finally:
            if fd is not None:
                os.close(fd)


class WorkTrees:
    """The pool. Trees are reused by any run on the same repository; the one last at the wanted
    commit is taken first.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._last: dict[str, str] = {}

    @asynccontextmanager
    async def at(
        self,
        commit: str,
        patches: Iterable[Patch] = (),
        *,
        pristine: Pristine | None = None,
        apart: bool = False,
    ) -> AsyncGenerator[WorkTree]:
        changes = await overlay(self._workshop, commit, patches, pristine)
        listing = await self._workshop.listing(commit)
        with _disk(self._workshop.trees):
            slot, fd = self._alone() if apart else self._free(commit)
        try:
            with _disk(slot.root):
                await slot.prepare(commit)
                lay(slot.root, changes)
            self._last[slot.name] = commit
            yield WorkTree(slot.root, commit, listing, changes)
        finally:
            if apart:
                slot.scrap()
                slot.lock.unlink(missing_ok=True)
            os.close(fd)

    @asynccontextmanager
    async def kept(
        self, commit: str, name: str, patches: Iterable[Patch] = (), *, fresh: bool = True
    ) -> AsyncGenerator[WorkTree]:
        """Out of the pool: nobody else gets this folder, so that what a killed process paid for is
        still there.
        """
        slot = Slot(self._workshop, f"{_KEPT}{hashlib.sha256(name.encode()).hexdigest()[:20]}")
        changes = await overlay(self._workshop, commit, patches)
        listing = await self._workshop.listing(commit)
        with slot.held() as ours, _disk(slot.root):
            if not ours:
                raise RepositoryError(
                    f"{slot.root}: another process works there", hint="wait for it, or end it"
                )
            mark = slot.root.with_suffix(".kept")
            if fresh or not mark.is_file() or mark.read_text() != commit:
                mark.unlink(missing_ok=True)
                await slot.prepare(commit)
                lay(slot.root, changes)
                mark.write_text(commit)
            yield WorkTree(slot.root, commit, listing, changes)
            slot.scrap()
            mark.unlink(missing_ok=True)
            slot.lock.unlink(missing_ok=True)

    async def changes(self, tree: Tree) -> Patch:
        return await taken(
            self._workshop, self._git_of(tree.root), tree.commit, tree.root.with_suffix(".index")
        )

    def git(self, tree: WorkTree) -> Git:
        """Git in a lent tree, with the index that whatever runs in the tree sees too."""
        return self._git_of(tree.root)

    def _git_of(self, root: Path) -> Git:
        return Git(root, git_dir=self._workshop.git_dir.resolve() / "worktrees" / root.name)

    def prune(self) -> int:
        """Removes every tree nobody uses, and says how many; those in use stay."""
        gone = 0
        for slot in self._slots():
            with slot.held() as ours:
                if ours:
                    slot.scrap()
                    slot.root.with_suffix(".kept").unlink(missing_ok=True)
                    slot.lock.unlink(missing_ok=True)
                    gone += 1
        return gone

    def _free(self, commit: str) -> tuple[Slot, int]:
        known = [slot for slot in self._slots() if not slot.name.startswith(_KEPT)]
        names = {slot.name for slot in known}
        known.sort(key=lambda slot: self._last.get(slot.name) != commit)
        more = (
            Slot(self._workshop, name) for name in map("t{}".format, count(1)) if name not in names
        )
        for slot in chain(known, more):
            fd = slot.take()
            if fd is not None:
                return slot, fd
        raise AssertionError("there is always one more number")

    def _alone(self) -> tuple[Slot, int]:
        """A place that nobody had before and nobody has afterwards."""
        slot = Slot(self._workshop, f"{_KEPT}{secrets.token_hex(10)}")
        fd = slot.take()
        return (slot, fd) if fd is not None else self._alone()

    def _slots(self) -> list[Slot]:
        names = {path.stem for path in self._workshop.trees.iterdir()}
        return [
            Slot(self._workshop, name) for name in sorted(names, key=lambda name: (len(name), name))
        ]


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    """A disk that is full, read-only or in disorder is something a person can act on."""
    try:
        yield
    except OSError as error:
        hint = (
            "free some disk space, or point PUNCHLIST_HOME at a folder that can be written; then"
            " resume"
        )
        kind = StoreError if error.errno in NO_ROOM else RepositoryError
        raise kind(f"{place}: cannot be written: {error.strerror}", hint=hint) from error


def _make_removable(root: Path) -> None:
    for folder, _, _ in os.walk(root):
        with suppress(OSError):
            os.chmod(folder, 0o700)  # noqa: PTH101  # os.walk gives plain strings
