"""Watch what a child and its descendants use up, for what no limit of the kernel holds."""

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from punchlist.adapters.sandbox.disk_usage import DiskUsage, DiskWatch
from punchlist.adapters.sandbox.sandbox import Sandbox

INTERVAL = 0.1
"""Seconds between two looks."""
_SHARE_OF_MACHINE = 0.8
_PAGE = os.sysconf("SC_PAGE_SIZE")


class QuotaWatch:
    """Compares a family of processes with the quotas of its sandbox, look by look. Made before the
    child is started. `scratch`: a folder that takes the place of its own /tmp.
    """

    def __init__(self, sandbox: Sandbox, scratch: Path | None = None) -> None:
        self._quotas = quotas = sandbox.profile.quotas
        self._memory = min(quotas.memory, _machine_memory())
        written = (source for source, _, writable in sandbox.binds if writable)
        folders = (*sandbox.writable, *written, *((scratch,) if scratch else ()))
        size = quotas.disk + (quotas.tmp if scratch else 0)
        self._disk = DiskWatch(folders, DiskUsage(size, quotas.files))

    async def find_excess(self, pids: Iterable[int]) -> str:
        """Return what the processes have too much of, or ''."""
        memory = count = 0
        members = list(pids)
        for pid in members:
            used, threads = _read_usage(pid)
            memory, count = memory + used, count + threads
            if count > self._quotas.processes:
                return f"over {self._quotas.processes} processes and threads"
            if memory > self._memory:
                return f"over {_format(self._memory)} of memory"
        return await self._disk.find_excess(members)

    async def find_left(self) -> str:
        """Return what a child that has ended left too much of, or ''."""
        return await self._disk.find_excess((), ended=True)


def _read_usage(pid: int) -> tuple[int, int]:
    """Return the memory of a process that it does not share, in bytes, and its threads."""
    try:
        place = Path("/proc", str(pid))
        _, resident, shared, *_ = map(int, (place / "statm").read_text().split())
        return (resident - shared) * _PAGE, sum(1 for _ in (place / "task").iterdir())
    except (OSError, ValueError):
        return 0, 0


@cache
def _machine_memory() -> int:
    return int(os.sysconf("SC_PHYS_PAGES") * _PAGE * _SHARE_OF_MACHINE)


def _format(size: int) -> str:
    return f"{size / (1 << 30):.3g} GB"
