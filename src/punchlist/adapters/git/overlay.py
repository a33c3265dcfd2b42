"""Compute which files patches and pristine files change in a commit, and write them to a folder."""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.git.command import (
    LINK,
    REGULAR,
    SUBMODULE,
    TreeEntry,
    decode_text,
    encode_text,
    escape_path,
)
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.checks.protected import matches_any
from punchlist.model.finding.finding import Splice
from punchlist.model.finding.reading_limits import is_too_deep
from punchlist.model.patch.patch import FileChange, Patch, apply_splices
from punchlist.ports.tree import Pristine


class FileState(Struct, frozen=True):
    """Wanted content and mode of a file; a link's content is its target."""

    content: bytes
    mode: str


Overlay = dict[str, FileState | None]
"""What differs from the commit; None is a file that is gone."""


class PatchParts(Struct, frozen=True):
    """Patches sorted by path."""

    splices: dict[str, list[Splice]]
    files: dict[str, FileChange]


async def build_overlay(
    workshop: Workshop, commit: str, patches: Iterable[Patch], pristine: Pristine | None = None
) -> Overlay:
    """Return what the patches change in `commit`, except for pristine files."""
    listing = await workshop.list_tree(commit)
    judges = await workshop.list_tree(pristine.origin) if pristine else {}
    origin = _Origin(pristine, {*listing, *judges})
    parts = split_patches(patches)
    edited = [path for path in parts.splices if not origin.protects(path)]
    refuse_missing(edited, listing, commit)
    restored = [
        entry
        for path, entry in judges.items()
        if listing.get(path) != entry and entry.mode != SUBMODULE and origin.protects(path)
    ]
    contents = await workshop.read_blobs(
        [listing[path].blob for path in edited] + [entry.blob for entry in restored]
    )
    result: Overlay = {
        path: None
        for path, entry in (listing.items() if pristine else ())
        if path not in judges and entry.mode != SUBMODULE and origin.excludes(path)
    }
    for path, content in zip(edited, contents, strict=False):
        result[path] = FileState(splice_content(content, parts.splices[path]), listing[path].mode)
    result |= {
        path: make_file_state(change)
        for path, change in parts.files.items()
        if not origin.protects(path)
    }
    result |= {
        entry.path: FileState(content, entry.mode)
        for entry, content in zip(restored, contents[len(edited) :], strict=True)
    }
    return {path: state for path, state in result.items() if not is_too_deep(path)}


def refuse_missing(paths: Iterable[str], listing: Mapping[str, TreeEntry], commit: str) -> None:
    """Raise RepositoryError if the commit has no regular file at one of the paths."""
    for path in paths:
        if path not in listing or not listing[path].regular:
            raise _path_error(path, f"the patch edits a file that {commit[:10]} does not have")


def _path_error(path: str, why: str) -> RepositoryError:
    return RepositoryError(f"{escape_path(path)}: {why}")


class _Origin:
    """Paths that patches may not change. `known` are the paths of the commit and the origin."""

    def __init__(self, pristine: Pristine | None, known: set[str]) -> None:
        self._pristine = pristine or Pristine(origin="")
        self._known = known

    def protects(self, path: str) -> bool:
        pristine = self._pristine
        kept = path in self._known and matches_any(path, pristine.kept)
        return (kept and path not in pristine.opened) or self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Return whether the file is removed if the origin lacks it."""
        return path not in self._pristine.opened and matches_any(path, self._pristine.alone)


def split_patches(patches: Iterable[Patch]) -> PatchParts:
    """Group the patches by path; raises RepositoryError if two of them conflict in a file."""
    splices: dict[str, list[Splice]] = {}
    files: dict[str, FileChange] = {}
    for patch in patches:
        for splice in patch.splices:
            splices.setdefault(splice.path, []).append(splice)
        for change in patch.files:
            if files.setdefault(change.path, change) != change:
                why = "two patches replace this file, each in its own way"
                raise _path_error(change.path, why)
    for path in splices.keys() & files.keys():
        raise _path_error(path, "one patch edits this file, another replaces it")
    for path in (*splices, *files):
        refuse_outside(path)
    return PatchParts(splices, files)


def splice_content(content: bytes, splices: Iterable[Splice]) -> bytes:
    """Apply the splices; all other bytes stay. Raises RepositoryError if one does not fit."""
    try:
        return encode_text(apply_splices(decode_text(content), splices))
    except ValueError as error:
        raise RepositoryError(f"the patch does not fit: {error}") from error


def make_file_state(change: FileChange) -> FileState | None:
    if change.content is None:
        return None
    if change.mode not in (*REGULAR, LINK):
        raise _path_error(change.path, f"{change.mode} is not the mode of a file")
    content = change.content.encode("latin-1")
    if change.mode == LINK and _leaves_root(change.path, decode_text(content)):
        raise _path_error(change.path, "the patch makes a link that leads out of the repository")
    return FileState(content, change.mode)


def refuse_outside(path: str) -> None:
    """Raise RepositoryError if a path leaves the root or enters .git."""
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts):
        raise RepositoryError(
            f"{escape_path(path)!r}: the patch writes where no file of a repository can be"
        )


def _leaves_root(path: str, target: str) -> bool:
    full = os.path.normpath(PurePosixPath(path).parent / target)
    return target.startswith("/") or full.startswith("..")


def write_overlay(root: Path, changes: Mapping[str, FileState | None]) -> None:
    """Write an overlay into a work tree, never through a link."""
    for path in changes:
        _refuse_links(root, path)
    for path, change in changes.items():
        if change is None:
            _remove_file(root, path)
    for path, change in changes.items():
        if change is not None:
            _write_file(root / path, change)


def find_regular(root: Path, path: str) -> Path | None:
    """Return the path of a regular file; None for anything else, links and files behind links."""
    full = root / path
    try:
        regular = stat.S_ISREG(full.lstat().st_mode)
    except (OSError, ValueError):
        return None
    return full if regular and os.path.realpath(full) == str(full) else None


def _refuse_links(root: Path, path: str) -> None:
    parent = (root / path).parent
    if os.path.realpath(parent) != str(parent):
        raise _path_error(path, "lies behind a link, and nothing is written through links")


def _remove_file(root: Path, path: str) -> None:
    full = root / path
    full.unlink(missing_ok=True)
    for parent in full.parents:
        # Git keeps no empty folders, and an empty one can change what an import finds.
        if parent == root or any(parent.iterdir()):
            return
        parent.rmdir()


def _write_file(full: Path, change: FileState) -> None:
    try:
        full.parent.mkdir(parents=True, exist_ok=True)
        full.unlink(missing_ok=True)
        if change.mode == LINK:
            full.symlink_to(os.fsdecode(change.content))
            return
        mode = 0o777 if change.mode == "100755" else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(full, flags, mode), "wb") as file:
            file.write(change.content)
    except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise _path_error(str(full), f"the patch does not fit: {error.strerror}") from error
