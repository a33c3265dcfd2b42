"""Walk folders without recursion and with limits."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from punchlist.errors import FolderTooLarge
from punchlist.model.finding.paths import shorten_path
from punchlist.model.finding.reading_limits import ReadingLimits, reading_limits

_HINT = "delete what is not needed there, or raise {setting} in your settings"

Level = tuple[str, list[str], list[str]]
"""A folder, the names of the folders in it, and of all else in it; links are never folders."""


def walk_folder(
    root: Path | str,
    limits: ReadingLimits | None = None,
    *,
    beyond: Callable[[str], object] | None = None,
) -> Iterator[Level]:
    """Yield each folder from the root down; the caller may take names out of its list of folders.
    What cannot be read is left out. A folder that is deeper than the limit, or whose path is too
    long to be opened, is given to `beyond` and not entered. Raise FolderTooLarge, which names the
    path, if there is no `beyond`, and for more files than the limit.
    """
    most = limits or reading_limits()
    refuse = beyond or partial(_refuse_deep, root, most.depth)
    waiting = [(os.fspath(root), 0)]
    count = 0
    while waiting:
        place, depth = waiting.pop()
        if depth > most.depth:
            refuse(place)
            continue
        try:
            folders, files = _read_level(place)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                refuse(place)
            continue
        count += len(folders) + len(files)
        if count > most.files:
            raise _too_large(root, place, f"has more than {most.files:,} files", "limits.files")
        yield place, folders, files
        waiting += ((f"{place}/{name}", depth + 1) for name in reversed(folders))


def skip_folder(place: str) -> None:
    """Do nothing about a folder that is too deep: the caller is content with the others."""


def walk_files(root: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, without those behind links and those too deep."""
    for place, _, names in walk_folder(root, beyond=skip_folder):
        for name in names:
            path = Path(place, name)
            if _is_regular(path):
                yield path


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _read_level(place: str) -> tuple[list[str], list[str]]:
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(place) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    return folders, files


def _refuse_deep(root: Path | str, depth: int, place: str) -> None:
    what = f"is more than {depth} folders deep, or its path is too long"
    raise _too_large(root, place, what, "limits.depth")


def _too_large(root: Path | str, place: str, what: str, setting: str) -> FolderTooLarge:
    named = shorten_path(os.path.relpath(place, root))
    return FolderTooLarge(f"{root}: {named} {what}", hint=_HINT.format(setting=setting))
