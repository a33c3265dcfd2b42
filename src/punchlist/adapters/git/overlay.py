"""What patches and pristine files make of a commit, as bytes per path, and how they get into a
folder without leaving it.
"""

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct

from punchlist.adapters.git.command import LINK, REGULAR, SUBMODULE, bytes_of, shown, text_of
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.checks.protected import matches
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch, spliced
from punchlist.ports.tree import Pristine


class Laid(Struct, frozen=True):
    """A file as it shall be. For a link the content is where it points to."""

    content: bytes
    mode: str


Overlay = dict[str, Laid | None]
"""What differs from the commit; None is a file that is gone."""


class Parts(Struct, frozen=True):
    """Patches sorted by path."""

    splices: dict[str, list[Splice]]
    files: dict[str, FileChange]


async def overlay(
    workshop: Workshop, commit: str, patches: Iterable[Patch], pristine: Pristine | None = None
) -> Overlay:
    """The patches' work on `commit`, except for what is pristine; None where nothing is."""
    listing = await workshop.listing(commit)
    judges = await workshop.listing(pristine.origin) if pristine else {}
    origin = _Origin(pristine, {*listing, *judges})
    parts = parts_of(patches)
    edited = [path for path in parts.splices if not origin.rules(path)]
    for path in edited:
        if path not in listing or not listing[path].regular:
            raise RepositoryError(
                f"{shown(path)}: the patch edits a file that {commit[:10]} does not have"
            )
    differ = [
        entry
        for path, entry in judges.items()
        if listing.get(path) != entry and entry.mode != SUBMODULE
    ]
    restored = [entry for entry in differ if origin.rules(entry.path)]
    contents = await workshop.blobs(
        [listing[path].blob for path in edited] + [entry.blob for entry in restored]
    )
    strangers = (
        [path for path, entry in listing.items() if path not in judges and entry.mode != SUBMODULE]
        if pristine
        else []
    )
    result: Overlay = {path: None for path in strangers if origin.excludes(path)}
    for path, content in zip(edited, contents, strict=False):
        result[path] = Laid(edit(content, parts.splices[path]), listing[path].mode)
    result |= {path: laid(change) for path, change in parts.files.items() if not origin.rules(path)}
    result |= {
        entry.path: Laid(content, entry.mode)
        for entry, content in zip(restored, contents[len(edited) :], strict=True)
    }
    return result


class _Origin:
    """Over which paths patches have no say. `known` are the paths that the commit or the origin
    has.
    """

    def __init__(self, pristine: Pristine | None, known: set[str]) -> None:
        self._pristine = pristine or Pristine(origin="")
        self._known = known

    def rules(self, path: str) -> bool:
        kept = (
            path in self._known
            and path not in self._pristine.opened
            and matches(path, self._pristine.kept)
        )
        return kept or self.excludes(path)

    def excludes(self, path: str) -> bool:
        """Whether the file is gone if the origin does not have it."""
        return path not in self._pristine.opened and matches(path, self._pristine.alone)


def parts_of(patches: Iterable[Patch]) -> Parts:
    """The patches by path; two that speak for one file in ways that do not combine are refused."""
    splices: dict[str, list[Splice]] = {}
    files: dict[str, FileChange] = {}
    for patch in patches:
        for splice in patch.splices:
            splices.setdefault(splice.path, []).append(splice)
        for change in patch.files:
            if files.setdefault(change.path, change) != change:
                raise RepositoryError(
                    f"{shown(change.path)}: two patches replace this file, each in its own way"
                )
    for path in splices.keys() & files.keys():
        raise RepositoryError(f"{shown(path)}: one patch edits this file, another replaces it")
    for path in (*splices, *files):
        refuse_outside(path)
    return Parts(splices, files)


def edit(content: bytes, splices: Iterable[Splice]) -> bytes:
    """The content with the splices in; bytes that no splice covers stay as they are."""
    try:
        return bytes_of(spliced(text_of(content), splices))
    except ValueError as error:
        raise RepositoryError(f"the patch does not fit: {error}") from error


def laid(change: FileChange) -> Laid | None:
    if change.content is None:
        return None
    if change.mode not in (*REGULAR, LINK):
        raise RepositoryError(f"{shown(change.path)}: {change.mode} is not the mode of a file")
    content = change.content.encode("latin-1")
    if change.mode == LINK and _leads_out(change.path, text_of(content)):
        raise RepositoryError(
            f"{shown(change.path)}: the patch makes a link that leads out of the repository"
        )
    return Laid(content, change.mode)


def refuse_outside(path: str) -> None:
    """A path must stay below the root, and out of git's own files."""
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or part.casefold() == ".git" for part in parts):
        raise RepositoryError(
            f"{shown(path)!r}: the patch writes where no file of a repository can be"
        )


def _leads_out(path: str, target: str) -> bool:
    return target.startswith("/") or os.path.normpath(
        PurePosixPath(path).parent / target
    ).startswith("..")


def lay(root: Path, changes: Mapping[str, Laid | None]) -> None:
    """Writes an overlay into a work tree; never through a link, whatever the repository has planted
    there.
    """
    for path in changes:
        _refuse_links(root, path)
    for path, change in changes.items():
        if change is None:
            _remove(root, path)
    for path, change in changes.items():
        if change is not None:
            _put(root / path, change)


def real(root: Path, path: str) -> Path | None:
    """Where a regular file of the tree is; None for links, what lies behind links, and everything
    else.
    """
    full = root / path
    try:
        regular = stat.S_ISREG(full.lstat().st_mode)
    except (OSError, ValueError):
        return None
    return full if regular and os.path.realpath(full) == str(full) else None


def _refuse_links(root: Path, path: str) -> None:
    parent = (root / path).parent
    if os.path.realpath(parent) != str(parent):
        raise RepositoryError(
            f"{shown(path)}: lies behind a link, and nothing is written through links"
        )


def _remove(root: Path, path: str) -> None:
    full = root / path
    full.unlink(missing_ok=True)
    for parent in full.parents:
        # Git keeps no empty folders, and an empty one can change what an import finds.
        if parent == root or any(parent.iterdir()):
            return
        parent.rmdir()


def _put(full: Path, change: Laid) -> None:
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
        raise RepositoryError(
            f"{shown(str(full))}: the patch does not fit: {error.strerror}"
        ) from error
