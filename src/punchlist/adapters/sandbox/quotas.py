"""Watch what a child and its descendants use up, for what no limit of the kernel holds."""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from punchlist.adapters.sandbox.sandbox import Sandbox

INTERVAL = 0.1
"""Seconds between two looks."""
_DISK_LOOKS = 5
"""Every so many looks the disk is looked at."""
_SHARE_OF_MACHINE = 0.8
_PAGE = os.sysconf("SC_PAGE_SIZE")
_BLOCK = 512
_FILES = 1_000_000
_SLACK = 2.0
"""Seconds by which clocks of file systems may differ from ours."""


class QuotaWatch:
    """Compares a family of processes with the quotas of its sandbox, look by look."""

    def __init__(self, sandbox: Sandbox, scratch: Path | None = None) -> None:
        self._quotas = sandbox.profile.quotas
        self._memory = min(self._quotas.memory, _machine_memory())
        self._folders = [
            *sandbox.writable,
            *(source for source, _, writable in sandbox.binds if writable),
        ]
        self._started = time.time() - _SLACK
        self._free = {folder: _free_bytes(folder) for folder in self._folders}
        self._looks = 0

    async def find_excess(self, pids: Iterable[int]) -> str:
        """Return what the processes have too much of, or ''."""
        self._looks += 1
        memory = count = 0
        for pid in pids:
            used, threads = _read_usage(pid)
            memory, count = memory + used, count + threads
            if count > self._quotas.processes:
                return f"over {self._quotas.processes} processes and threads"
            if memory > self._memory:
                return f"over {_format(self._memory)} of memory"
        if self._looks % _DISK_LOOKS == 0 and await self._is_disk_exceeded():
            return f"over {_format(self._quotas.disk)} of files written"
        return ""

    async def _is_disk_exceeded(self) -> bool:
        """Count the new files once the disk has less room by the quota; that is not often."""
        filled = [
            folder
            for folder, free in self._free.items()
            if free - _free_bytes(folder) > self._quotas.disk
        ]
        if not filled:
            return False
        written = await asyncio.to_thread(_count_written, self._folders, self._started)
        self._free |= {folder: _free_bytes(folder) for folder in filled}
        return written > self._quotas.disk


def _read_usage(pid: int) -> tuple[int, int]:
    """Return the memory of a process that it does not share, in bytes, and its threads."""
    try:
        place = Path("/proc", str(pid))
        _, resident, shared, *_ = map(int, (place / "statm").read_text().split())
        return (resident - shared) * _PAGE, sum(1 for _ in (place / "task").iterdir())
    except (OSError, ValueError):
        return 0, 0


def _count_written(folders: Sequence[Path], since: float) -> int:
    """Return the bytes of files that were changed since then."""
    total = seen = 0
    for folder in dict.fromkeys(folders):
        for where, _, names in os.walk(folder):
            for name in names:
                seen += 1
                if seen > _FILES:
                    return total
                try:
                    stat = os.lstat(f"{where}/{name}")
                except OSError:
                    continue
                total += stat.st_blocks * _BLOCK if stat.st_ctime >= since else 0
    return total


def _free_bytes(folder: Path) -> int:
    try:
        stat = os.statvfs(folder)
    except OSError:
        return 0
    return stat.f_bfree * stat.f_frsize


@cache
def _machine_memory() -> int:
    return int(os.sysconf("SC_PHYS_PAGES") * _PAGE * _SHARE_OF_MACHINE)


def _format(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB"
