"""Read what was changed in a work tree from the tree itself."""

import asyncio
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.folders.walk import walk_folder
from punchlist.adapters.git.command import REGULAR, SUBMODULE, Git, decode_text, is_utf8
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch, splices_between

_GONE = "000000"
LARGEST = 64 << 20
"""Bytes of changed and new files; more is not read, because no fix is that large."""
MOST = 5000
"""Changed and new files."""
_COMPILED = (".pyc", ".pyo")
"""Running the code leaves them behind; a forged one would run instead of its source."""


class _RawChange(Struct, frozen=True):
    """One entry of git's raw diff."""

    path: str
    old_mode: str
    mode: str
    old_blob: str
    blob: str


async def diff_tree(workshop: Workshop, git: Git, commit: str, index: Path) -> Patch:
    """Return what differs from the commit as a patch, without ignored files and new bytecode.

    `index` is the tree's original index: a copy of it is used, so that nothing staged,
    committed or marked in the tree counts.
    """
    written = await asyncio.to_thread(_survey_tree, git.folder)
    known = len(await workshop.list_tree(commit))
    with temporary_folder("punchlist-index-") as folder:
        own = folder / "index"
        # With its time: git looks closer at files written in the same second as the index.
        shutil.copy2(index, own)
        env = {"GIT_INDEX_FILE": str(own)}
        if written.size > LARGEST or written.files > known + MOST:
            await _refuse_large(git, env)
        await git.check_output("add", "--all", ".", env=env)
        fields = await git.list_fields(
            "diff-index", "--cached", "--raw", "-z", "--no-renames", "--abbrev=64", commit, env=env
        )
    found = [raw for raw in _parse_raw(iter(fields)) if _is_work(raw)]
    _refuse_many(len(found))
    wanted = [blob for raw in found for blob in (raw.old_blob, raw.blob) if blob.strip("0")]
    contents = dict(zip(wanted, await workshop.read_blobs(wanted), strict=True))
    return _build_patch(found, contents)


class _Survey(Struct, frozen=True):
    """Number and bytes of the files in a tree."""

    files: int
    size: int


def _survey_tree(root: Path) -> _Survey:
    """Count the files, and delete what makes folders of the tree repositories of their own: git
    would see none of their files, and refuse an empty one. Raise FolderTooLarge.
    """
    count = size = 0
    for folder, folders, files in walk_folder(root):
        if folder == str(root):
            folders[:] = [name for name in folders if name != ".git"]
        else:
            for name in (each for each in (*folders, *files) if each.casefold() == ".git"):
                remove_folder(Path(folder, name))
            folders[:] = [name for name in folders if name.casefold() != ".git"]
        count += len(files)
        size += _sum_sizes(Path(folder, name) for name in files)
    return _Survey(count, size)


async def _refuse_large(git: Git, env: dict[str, str]) -> None:
    """Raise RepositoryError if more was written than is read; all of it would be in memory."""
    listed = ("ls-files", "-z", "--others", "--modified", "--exclude-standard")
    written = {git.folder / name for name in await git.list_fields(*listed, env=env)}
    _refuse_many(len(written))
    if (size := _sum_sizes(written)) > LARGEST:
        most = f"{LARGEST >> 20} MB"
        raise RepositoryError(f"{size >> 20} MB of files were written; at most {most} are read")


def _refuse_many(count: int) -> None:
    if count > MOST:
        raise RepositoryError(f"{count:,} files were written; at most {MOST:,} are read")


def _sum_sizes(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):
            total += path.lstat().st_size
    return total


def _is_work(raw: _RawChange) -> bool:
    compiled = raw.old_mode == _GONE and raw.path.endswith(_COMPILED)
    return SUBMODULE not in (raw.mode, raw.old_mode) and is_utf8(raw.path) and not compiled


def _parse_raw(lines: Iterator[str]) -> Iterator[_RawChange]:
    for facts in lines:
        old_mode, mode, old_blob, blob, _ = facts.removeprefix(":").split(" ")
        yield _RawChange(next(lines), old_mode, mode, old_blob, blob)


def _build_patch(found: list[_RawChange], contents: dict[str, bytes]) -> Patch:
    splices: list[Splice] = []
    files: list[FileChange] = []
    for raw in found:
        old, new = contents.get(raw.old_blob, b""), contents.get(raw.blob, b"")
        if raw.mode == raw.old_mode and raw.mode in REGULAR and b"\0" not in old + new:
            splices += splices_between(raw.path, decode_text(old), decode_text(new))
        elif raw.mode == _GONE:
            files.append(FileChange(raw.path, None))
        else:
            files.append(FileChange(raw.path, new.decode("latin-1"), raw.mode))
    return Patch(splices=tuple(splices), files=tuple(files))
