"""The user's index or working tree as a commit in the workshop; git's own index is not touched."""

import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.checks.untracked_needs import is_unwanted
from punchlist.adapters.folders.look import is_file
from punchlist.adapters.folders.temporary import temporary_folder
from punchlist.adapters.git.command import Git, is_utf8
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.finding.reading_limits import MEGABYTE, is_too_deep, reading_limits

_STAGED = "what is staged"
_SAVED = "the working tree as it was saved"


class Snapshot(NamedTuple):
    """A commit on HEAD; its tree is HEAD's where nothing differs."""

    commit: str
    changed: bool
    left_out: tuple[str, ...] = ()
    """Untracked files that are not looked at: they may hold keys, are caches, or too large."""


async def snapshot_index(workshop: Workshop) -> Snapshot:
    """Return what is staged."""
    async with _copy_index(workshop) as index:
        return await _commit_index(workshop, index, _STAGED)


async def snapshot_working_tree(workshop: Workshop, paths: Sequence[str] | None = None) -> Snapshot:
    """Return the tracked files as they are on disk, with the untracked ones that git does not
    ignore; only with those of `paths`, if they are given.
    """
    async with _copy_index(workshop) as index:
        await _add_tracked(index)
        left_out = await _add_others(workshop, index, paths)
        made = await _commit_index(workshop, index, _SAVED)
        return made._replace(left_out=left_out)


class _Index(NamedTuple):
    git: Git
    env: dict[str, str]


@asynccontextmanager
async def _copy_index(workshop: Workshop) -> AsyncIterator[_Index]:
    checkout = workshop.checkout
    with temporary_folder("index-", workshop.folder) as folder:
        copy = folder / "index"
        if is_file(index := checkout.own_dir / "index"):
            shutil.copyfile(index, copy)
        objects = str(workshop.git_dir / "objects")
        env = {"GIT_INDEX_FILE": str(copy), "GIT_OBJECT_DIRECTORY": objects}
        yield _Index(checkout.user_git, env)


async def _add_tracked(index: _Index) -> None:
    # Submodules are left out: git would start another git in them, with their configuration.
    differs = ("diff-files", "--name-only", "-z", "--ignore-submodules=all")
    changed = (await index.git.run(*differs, env=index.env)).stdout
    if changed:  # a file that cannot be read stays as the index has it
        these = ("--pathspec-from-file=-", "--pathspec-file-nul")
        add = ("add", "--update", "--ignore-errors", *these)
        await index.git.run(*add, stdin=changed, env=index.env)


async def _add_others(
    workshop: Workshop, index: _Index, paths: Sequence[str] | None
) -> tuple[str, ...]:
    """Add untracked files; return those that are left out."""
    root = workshop.checkout.root
    others = ("ls-files", "-z", "--others", "--exclude-standard")
    if paths is None:
        state = workshop.folder.parents[1]  # may lie in the checkout
        found = await index.git.list_fields(*others, env=index.env)
        named = [name for name in found if not (root / name).is_relative_to(state)]
        taken = [name for name in named if _may_be_added(root, name)]
        known = frozenset(taken)
        left_out = tuple(name for name in named if name not in known)
    else:
        there = [path for path in paths if is_file(root / path)]
        wanted = (*others, "--cached", "--", *there)
        taken = await index.git.list_fields(*wanted, env=index.env) if there else []
        left_out = ()
    if taken:
        these = ("--pathspec-from-file=-", "--pathspec-file-nul")
        names = b"".join(os.fsencode(name) + b"\0" for name in dict.fromkeys(taken))
        await index.git.run("add", "--ignore-errors", *these, stdin=names, env=index.env)
    return left_out


def _may_be_added(root: Path, name: str) -> bool:
    """Return whether an untracked file is looked at without being named."""
    path = root / name
    if not is_utf8(name) or is_too_deep(name) or any(map(is_unwanted, name.split("/"))):
        return False
    return is_file(path) and path.stat().st_size <= reading_limits().file_size * MEGABYTE


async def _commit_index(workshop: Workshop, index: _Index, message: str) -> Snapshot:
    checkout = workshop.checkout
    ran = await index.git.run("write-tree", env=index.env)
    if not ran.ok:
        raise RepositoryError(
            f"{checkout.root}: the files are not in a state to review",
            hint="resolve the merge that is under way first",
        )
    tree = ran.stdout.decode().strip()
    shown = ("show", "--no-patch", "--format=%T %ct", checkout.head)
    before, _, when = (await checkout.git.read_line(*shown)).partition(" ")
    commit = await workshop.commit_tree(tree, (checkout.head,), message, when)
    return Snapshot(commit, tree != before)
