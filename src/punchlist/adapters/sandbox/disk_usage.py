"""Watch what a child adds to the folders that it can write to."""

import asyncio
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.folders.walk import walk_folder
from punchlist.model.finding.paths import shorten_path
from punchlist.model.finding.reading_limits import reading_limits

_BLOCK = 512
_FIRST_LOOK = 0.5
_PAUSE = 50
"""Between two counts it waits so many times as long as the last one took."""


class DiskUsage(Struct, frozen=True):
    """Bytes on disk and files, folders among them; `deep` is a folder too deep to be counted."""

    size: int = 0
    files: int = 0
    deep: str = ""


class DiskWatch:
    """Counts now and then, and at once if a file system has lost as much room as the quota."""

    def __init__(self, folders: Iterable[Path], most: DiskUsage) -> None:
        self._folders = tuple(dict.fromkeys(folders))
        self._most = most
        self._since = time.time()
        self._highest = {folder: _read_free(folder) for folder in self._folders}
        """The most room that each had: what others free meanwhile must hide nothing."""
        self._next = time.monotonic() + _FIRST_LOOK

    async def find_excess(self, pids: Sequence[int], *, ended: bool = False) -> str:
        """Return what there is too much of, or ''. Of a child that has ended only what shows in the
        room that is left.
        """
        filled = self._list_filled()
        if not filled and (ended or not self._folders or time.monotonic() < self._next):
            return ""
        began = time.monotonic()
        used = await asyncio.to_thread(count_usage, self._folders, self._since, pids)
        now = time.monotonic()
        self._next = now + _PAUSE * (now - began)
        if used.size > self._most.size:
            return f"over {self._most.size / (1 << 30):.3g} GB of files written"
        if used.files > self._most.files:
            return f"over {self._most.files} files written"
        if used.deep:
            return f"a folder too deep to be counted: {shorten_path(used.deep)}"
        # Not all can be seen, such as deleted files whose descriptor is on its way.
        if any(_read_free(folder).size < self._most.size for folder in filled):
            return "the disk is nearly full"
        self._highest |= {folder: _read_free(folder) for folder in filled}
        return ""

    def _list_filled(self) -> list[Path]:
        """Return the folders whose file systems have lost as much room as the quota."""
        filled = []
        for folder, before in self._highest.items():
            free = _read_free(folder)
            if (
                before.size - free.size > self._most.size
                or before.files - free.files > self._most.files
            ):
                filled.append(folder)
            else:
                self._highest[folder] = DiskUsage(
                    max(before.size, free.size), max(before.files, free.files)
                )
        return filled


def count_usage(folders: Sequence[Path], since: float, pids: Iterable[int]) -> DiskUsage:
    """Return what was changed in the folders since then, with deleted files that are still open."""
    found: dict[tuple[int, int], int] = {}
    deep: list[str] = []
    for place in _list_entries(folders, deep):
        with suppress(OSError):
            entry = os.lstat(place)
            if entry.st_ctime >= since:
                found[entry.st_dev, entry.st_ino] = entry.st_blocks * _BLOCK
    devices = {_read_device(folder) for folder in folders}
    for device, inode, size in (each for pid in pids for each in _list_deleted(pid)):
        if device in devices:
            found[device, inode] = max(size, found.get((device, inode), 0))
    return DiskUsage(sum(found.values()), len(found), next(iter(deep), ""))


def _list_entries(folders: Sequence[Path], deep: list[str]) -> Iterator[str]:
    limits = replace(reading_limits(), files=sys.maxsize)  # the quota has a number of its own
    for folder in folders:
        for where, folders_below, names in walk_folder(folder, limits, beyond=deep.append):
            yield from (f"{where}/{name}" for name in (*folders_below, *names))


def _list_deleted(pid: int) -> Iterator[tuple[int, int, int]]:
    """Yield device, number and size of the deleted files that a process has open or mapped."""
    with suppress(OSError):
        for name in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                entry = name.stat()
                if entry.st_nlink == 0 and stat.S_ISREG(entry.st_mode):
                    yield entry.st_dev, entry.st_ino, entry.st_blocks * _BLOCK
    with suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            if line.endswith("(deleted)"):
                area, _, _, device, inode, *_ = line.split()
                first, last = (int(each, 16) for each in area.split("-"))
                major, minor = (int(each, 16) for each in device.split(":"))
                yield os.makedev(major, minor), int(inode), last - first


def _read_device(folder: Path) -> int:
    with suppress(OSError):
        return folder.stat().st_dev
    return -1


def _read_free(folder: Path) -> DiskUsage:
    with suppress(OSError):
        free = os.statvfs(folder)
        return DiskUsage(free.f_bfree * free.f_frsize, free.f_ffree)
    return DiskUsage()
