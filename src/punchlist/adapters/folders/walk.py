"""Walk folders without recursion and with limits."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from punchlist.errors import FolderTooLarge
from punchlist.model.finding.paths import shorten_path
from punchlist.model.finding.reading_limits import ReadingLimits, reading_limits

_HINT = "delete what is not needed there, or raise {setting} in your settings"

Level = tuple[str, list[str], list[str]]
"""A folder, the names of the folders in it, and of all else in it; links are never folders."""


def walk_folder(root: Path | str, limits: ReadingLimits | None = None) -> Iterator[Level]:
    """Yield each folder from the root down, as os.walk does; the caller may take names out of its
    list of folders. What cannot be read is left out. Raise FolderTooLarge, which names the path,
    for one that has more files or is deeper than the limits.
    """
    most = limits or reading_limits()
    waiting = [(os.fspath(root), 0)]
    count = 0
    while waiting:
        place, depth = waiting.pop()
        level = _read_level(place)
        if level is None:
            continue
        folders, files = level
        count += len(folders) + len(files)
        if count > most.files:
            raise _too_large(root, place, f"has more than {most.files:,} files", "limits.files")
        yield place, folders, files
        if folders and depth >= most.depth:
            what = f"is more than {most.depth} folders deep"
            raise _too_large(root, f"{place}/{folders[0]}", what, "limits.depth")
        waiting += ((f"{place}/{name}", depth + 1) for name in reversed(folders))


def walk_files(root: Path, limits: ReadingLimits | None = None) -> Iterator[Path]:
    """Yield the regular files below a folder, without those behind links."""
    for place, _, names in walk_folder(root, limits):
        for name in names:
            path = Path(place, name)
            if _is_regular(path):
                yield path


def _is_regular(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _read_level(place: str) -> tuple[list[str], list[str]] | None:
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    except OSError:
        return None
    return folders, files


def _too_large(root: Path | str, place: str, what: str, setting: str) -> FolderTooLarge:
    named = shorten_path(os.path.relpath(place, root))
    return FolderTooLarge(f"{root}: {named} {what}", hint=_HINT.format(setting=setting))
