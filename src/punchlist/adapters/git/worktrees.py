"""Pool of the workshop's work trees: lent clean to one user, or to several who only read."""

import asyncio
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import AsyncGenerator, Collection, Container, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path

from punchlist.adapters.folders.look import is_file, is_folder, is_link, path_exists, resolve_path
from punchlist.adapters.folders.remove import discard_folder, remove_folder
from punchlist.adapters.git.command import Git, TreeEntry, decode_text, is_utf8
from punchlist.adapters.git.overlay import Overlay, build_overlay, find_regular, write_overlay
from punchlist.adapters.git.tree_changes import diff_tree
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import NO_ROOM, DiskFull, RepositoryError
from punchlist.model.finding.reading_limits import reading_limits
from punchlist.model.patch.patch import Patch
from punchlist.ports.remarks import remark
from punchlist.ports.tree import Pristine, Tree

_LATER = "`punchlist clean` tries again"
_KEPT = "kept-"
"""How trees outside of the pool are called."""


class WorkTree:
    """A lent tree. Files whose names are not UTF-8 are not listed."""

    def __init__(
        self,
        root: Path,
        commit: str,
        listing: dict[str, TreeEntry],
        changes: Overlay,
        *,
        resumed: bool = False,
    ) -> None:
        self.root = root
        self.resumed = resumed
        self.commit = commit
        self._listing = listing
        self._changes = changes

    def text(self, path: str) -> str | None:
        full = find_regular(self.root, path)
        if full is None:
            return None
        size, most = full.stat().st_size >> 20, reading_limits().file_size
        if size >= most:
            remark(f"{path}: has over {most} MB and is not read (limits.file-size)")
            return None
        return decode_text(full.read_bytes())

    def files(self) -> Sequence[str]:
        return self._files

    @cached_property
    def _files(self) -> tuple[str, ...]:
        listing, changes = self._listing, self._changes
        written = {path: state.mode for path, state in changes.items() if state is not None}
        kept = {path: entry.mode for path, entry in listing.items() if path not in changes}
        modes = kept | written
        found = (path for path, mode in modes.items() if mode.startswith("100") and is_utf8(path))
        return tuple(sorted(found)) if written.keys() - listing.keys() else tuple(found)


class Slot:
    """One folder of the pool; its lock and index are beside it, where programs inside cannot
    reach.
    """

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.name = name
        self.root = resolve_path(workshop.trees) / name
        self.lock = self.root.with_suffix(".lock")
        self.index = self.root.with_suffix(".index")
        self._partial = self.root.with_suffix(".partial")
        """Whether files of the commit were left out."""
        self._admin = resolve_path(workshop.git_dir) / "worktrees" / name
        self._aside = workshop.set_aside

    async def prepare(self, commit: str, listing: Collection[str], deep: Sequence[str]) -> None:
        """Reset the folder to exactly the files of a commit: those of the listing, without those
        that are too deep.
        """
        try:
            await self._reset_files(commit, listing, deep)
        except (RepositoryError, DiskFull, OSError):
            await asyncio.to_thread(self.delete_files)
            await self._reset_files(commit, listing, deep)
        # Git inside the tree gets its own index: marks in it must not decide what is restored.
        shutil.copyfile(self.index, self._admin / "index")

    async def _reset_files(
        self, commit: str, listing: Collection[str], deep: Sequence[str]
    ) -> None:
        used = is_file(self.index) and is_folder(self.root)
        await asyncio.to_thread(self._link_repository, commit)
        if used:
            await asyncio.to_thread(_delete_others, self.root, listing)
        git = Git(self.root, git_dir=self._admin, common_dir=self._admin.parents[1])
        env = {"GIT_INDEX_FILE": str(self.index)}
        if deep or path_exists(self._partial):
            self._partial.touch()
            self.index.unlink(missing_ok=True)  # it may leave out other files
            await git.check_output("read-tree", commit, env=env)
            left_out = b"".join(os.fsencode(path) + b"\0" for path in deep)
            skip = ("update-index", "--skip-worktree", "-z", "--stdin")
            await git.check_output(*skip, stdin=left_out, env=env)
            await git.check_output("checkout-index", "--all", "--force", "--index", env=env)
            if not deep:
                self._partial.unlink()
            return
        await git.check_output(
            "reset", "--hard", "--quiet", "--no-recurse-submodules", commit, env=env
        )

    def _link_repository(self, commit: str) -> None:
        """Write the links between folder and repository anew: changes to them do not count."""
        self._discard(self._admin)
        self._admin.mkdir(parents=True)
        dot_git = self.root / ".git"
        for name, content in {"HEAD": commit, "commondir": "../..", "gitdir": str(dot_git)}.items():
            (self._admin / name).write_bytes(os.fsencode(f"{content}\n"))
        self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)
        if is_link(self.root):
            self.root.unlink()
        self.root.mkdir(exist_ok=True)
        if is_link(dot_git) or not is_file(dot_git):
            self._discard(dot_git)
        dot_git.unlink(missing_ok=True)
        dot_git.write_bytes(os.fsencode(f"gitdir: {self._admin}\n"))

    def read_stamp(self) -> tuple[tuple[int, int], ...] | None:
        """Return what differs each time that the folder is prepared, in any process, and once it
        was emptied or replaced. None if it is not there as it was prepared.
        """
        with suppress(OSError):
            found = [each.lstat() for each in (self._admin / "HEAD", self.root, self.root / ".git")]
            return tuple((each.st_ino, each.st_ctime_ns) for each in found)
        return None

    def delete_files(self) -> None:
        """Delete the folder, its index and its git data. What cannot be deleted is set aside."""
        self._discard(self.root)
        self._discard(self._admin)
        self.index.unlink(missing_ok=True)
        self._partial.unlink(missing_ok=True)

    def _discard(self, folder: Path) -> None:
        if place := discard_folder(folder, self._aside):
            remark(f"could not be deleted, and was set aside: {place}; {_LATER}")

    def try_lock(self) -> int | None:
        """Lock the slot, until the process ends, and return the descriptor; None if another
        process holds it.
        """
        fd = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        # The file is missing if another process deleted it since it was opened.
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), self.lock.stat()):
                return fd
        os.close(fd)
        return None

    @contextmanager
    def hold_lock(self) -> Iterator[bool]:
        fd = self.try_lock()
        try:
            yield fd is not None
        finally:
            if fd is not None:
                os.close(fd)

    @property
    def mark(self) -> Path:
        """The file that names the commit and the work of a tree outside of the pool."""
        return self.root.with_suffix(".kept")

    def read_mark(self) -> list[str]:
        try:
            return self.mark.read_text().splitlines()
        except FileNotFoundError:
            return []

    def delete(self) -> None:
        self.delete_files()
        self.mark.unlink(missing_ok=True)
        self.lock.unlink(missing_ok=True)


class SharedTree:
    """A tree that is lent to any number of users at a time; the first of them prepares it."""

    def __init__(self, commit: str, changes: Overlay) -> None:
        self.wanted = commit, changes
        self.users = 0
        self.preparing = asyncio.Lock()
        self.tree: WorkTree | None = None
        self.clean = True
        self.lent = AsyncExitStack()


class WorkTrees:
    """The pool, shared by all runs on one repository; a tree last at the wanted commit is
    preferred.
    """

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop
        self._last = workshop.last_commits
        self._untouched: dict[str, tuple[object, str, Overlay]] = workshop.untouched_trees
        self._shared: list[SharedTree] = workshop.shared_trees

    @asynccontextmanager
    async def open_tree(
        self,
        commit: str,
        patches: Iterable[Patch] = (),
        *,
        pristine: Pristine | None = None,
        apart: bool = False,
        shared: bool = False,
    ) -> AsyncGenerator[WorkTree]:
        self._require_state()
        changes = await build_overlay(self._workshop, commit, patches, pristine)
        lend = self._share_tree if shared else partial(self._lend_slot, apart=apart)
        async with lend(commit, changes) as tree:
            yield tree

    @asynccontextmanager
    async def _share_tree(self, commit: str, changes: Overlay) -> AsyncGenerator[WorkTree]:
        """Lend the tree that other readers of the same files have, or a new one."""
        shared = next((each for each in self._shared if each.wanted == (commit, changes)), None)
        if shared is None:
            shared = SharedTree(commit, changes)
            self._shared.append(shared)
        shared.users += 1
        clean = False
        try:
            async with shared.preparing:
                if shared.tree is None:
                    lent = self._lend_slot(commit, changes, clean=True)
                    shared.tree = await shared.lent.enter_async_context(lent)
            yield shared.tree
            clean = True
        finally:
            shared.users -= 1
            shared.clean = shared.clean and clean
            if not shared.users:
                self._shared.remove(shared)
                await shared.lent.aclose()
                if shared.tree and not shared.clean:
                    self._untouched.pop(shared.tree.root.name, None)

    @asynccontextmanager
    async def _lend_slot(
        self, commit: str, changes: Overlay, *, apart: bool = False, clean: bool = False
    ) -> AsyncGenerator[WorkTree]:
        """Lend a folder with the files; with `clean` it is as it was when it comes back."""
        listing = await self._workshop.list_tree(commit)
        deep = await self._workshop.list_too_deep(commit)
        with _convert_disk_errors(self._workshop.trees):
            slot, fd = self._create_slot() if apart else self._take_slot(commit)
        try:
            known = self._untouched.pop(slot.name, None)
            if known is None or known != (slot.read_stamp(), commit, changes):
                with _convert_disk_errors(slot.root):
                    await self._prepare(slot, commit, listing, deep)
                    write_overlay(slot.root, changes)
            self._last[slot.name] = commit
            yield WorkTree(slot.root, commit, _leave_out(listing, deep), changes)
            if clean and (stamp := slot.read_stamp()):
                self._untouched[slot.name] = (stamp, commit, changes)
        finally:
            if apart:
                await asyncio.to_thread(slot.delete)
            os.close(fd)

    async def _prepare(
        self, slot: Slot, commit: str, listing: Collection[str], deep: Sequence[str]
    ) -> None:
        try:
            await slot.prepare(commit, listing, deep)
        except (RepositoryError, OSError):
            self._require_state()  # it may have been deleted meanwhile, which says more
            raise

    @asynccontextmanager
    async def resume_tree(
        self, commit: str, name: str, patches: Iterable[Patch] = (), *, fresh: bool = True
    ) -> AsyncGenerator[WorkTree]:
        """Lend a folder outside the pool, so that the work of a killed process is still there."""
        self._require_state()
        slot = Slot(self._workshop, f"{_KEPT}{hashlib.sha256(name.encode()).hexdigest()[:20]}")
        changes = await build_overlay(self._workshop, commit, patches)
        listing = await self._workshop.list_tree(commit)
        deep = await self._workshop.list_too_deep(commit)
        with slot.hold_lock() as ours, _convert_disk_errors(slot.root):
            if not ours:
                raise RepositoryError(
                    f"{slot.root}: another process works there", hint="wait for it, or end it"
                )
            resumed = not fresh and slot.read_mark()[:1] == [commit]
            if not resumed:
                slot.mark.unlink(missing_ok=True)
                await slot.prepare(commit, listing, deep)
                write_overlay(slot.root, changes)
                slot.mark.write_text(f"{commit}\n{name}\n")
            kept = _leave_out(listing, deep)
            yield WorkTree(slot.root, commit, kept, changes, resumed=resumed)
            await asyncio.to_thread(slot.delete)

    async def collect_changes(self, tree: Tree) -> Patch:
        index = tree.root.with_suffix(".index")
        return await diff_tree(self._workshop, self.open_git(tree), tree.commit, index)

    def open_git(self, tree: Tree) -> Git:
        """Return Git for a lent tree, with the index that programs in the tree use."""
        common = resolve_path(self._workshop.git_dir)
        return Git(tree.root, git_dir=common / "worktrees" / tree.root.name, common_dir=common)

    def prune(self, unfinished: Container[str] | None = None) -> int:
        """Delete all unused trees and return their number.

        Trees with an agent's work stay if their run is `unfinished`; without it, all of them.
        """
        gone = 0
        for slot in self._list_slots():
            with slot.hold_lock() as ours:
                if ours and not _holds_work(slot, unfinished):
                    slot.delete()
                    gone += 1
        return gone

    def _require_state(self) -> None:
        """Raise RepositoryError if the folders of the workshop are gone."""
        git_dir, trees = self._workshop.git_dir, self._workshop.trees
        for folder, sign in ((git_dir, git_dir / "HEAD"), (trees, trees)):
            if not path_exists(
                sign
            ):  # a tree that is being prepared may have made the folder again
                raise RepositoryError(
                    f"{folder}: was deleted while the run was at work",
                    hint="start a new run: punchlist run",
                )

    def _take_slot(self, commit: str) -> tuple[Slot, int]:
        known = [slot for slot in self._list_slots() if not slot.name.startswith(_KEPT)]
        names = {slot.name for slot in known}
        # A tree that is at the commit is preferred; one that may still be wanted is taken last.
        known.sort(
            key=lambda slot: (self._last.get(slot.name) != commit, slot.name in self._untouched)
        )
        numbered = (f"t{number}" for number in count(1))
        more = (Slot(self._workshop, name) for name in numbered if name not in names)
        for slot in chain(known, more):
            fd = slot.try_lock()
            if fd is not None:
                return slot, fd
        raise AssertionError("there is always one more number")

    def _create_slot(self) -> tuple[Slot, int]:
        """Lock a new slot that is never reused."""
        slot = Slot(self._workshop, f"{_KEPT}{secrets.token_hex(10)}")
        fd = slot.try_lock()
        return (slot, fd) if fd is not None else self._create_slot()

    def _list_slots(self) -> list[Slot]:
        names = {path.stem for path in self._workshop.trees.iterdir()}
        ordered = sorted(names, key=lambda name: (len(name), name))
        return [Slot(self._workshop, name) for name in ordered]


def _holds_work(slot: Slot, unfinished: Container[str] | None) -> bool:
    """Return whether the tree has work of a run that may be resumed."""
    match slot.read_mark():
        case [_, name]:
            return unfinished is None or name.partition("/")[0] in unfinished
        case _:
            return False


@contextmanager
def _convert_disk_errors(place: Path) -> Iterator[None]:
    """Convert OSError to DiskFull or RepositoryError, with a hint."""
    try:
        yield
    except OSError as error:
        hint = "free some disk space, or point PUNCHLIST_HOME at a folder that can be written"
        kind = DiskFull if error.errno in NO_ROOM else RepositoryError
        what = f"{place}: cannot be written: {error.strerror}"
        raise kind(what, hint=f"{hint}; then resume") from error


def _leave_out(listing: dict[str, TreeEntry], deep: Collection[str]) -> dict[str, TreeEntry]:
    left_out = set(deep)
    return {p: e for p, e in listing.items() if p not in left_out} if deep else listing


def _delete_others(root: Path, listing: Collection[str]) -> None:
    """Delete all but the listed files and the link to the repository; links are not followed. Raise
    OSError if something cannot be deleted.
    """
    folders: set[str] = set()
    for path in listing:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(root / below) as entries:
            for entry in entries:
                name = f"{below}/{entry.name}" if below else entry.name
                if not entry.is_dir(follow_symlinks=False):
                    if name not in listing and name != ".git":
                        Path(entry.path).unlink()
                elif name in folders:
                    waiting.append(name)
                else:
                    if not remove_folder(Path(entry.path)):
                        raise OSError(errno.ENOTEMPTY, "cannot be deleted", entry.path)
                    if name in listing:  # a submodule
                        Path(entry.path).mkdir()
