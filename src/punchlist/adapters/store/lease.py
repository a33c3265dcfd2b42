"""Lock a run for one process, by a kernel lock that ends with the process."""

import fcntl
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec

from punchlist.adapters.store.errors import convert_errors, make_store_error
from punchlist.errors import AlreadyRunning
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.ports.state import LeaseHolder

_PLAIN = late_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TRIES = 4
_PAUSE = 0.05
"""A process that only checks whether a run is alive holds the lock for a moment."""


class FileLease:
    """The exclusive right to drive one run, and to work on its request."""

    lost = False
    """Another process cannot take a kernel lock."""

    def __init__(self, handles: list[int], run: str) -> None:
        self._handles = handles
        self.run = run

    @classmethod
    def acquire(cls, home: Path, run: str, request: str = "", *, force: bool = False) -> Self:
        """Lock the run and its request. Raise AlreadyRunning, with the run's id, if another process
        has one; with `force` only for the run.
        """
        handles: list[int] = []
        with ExitStack() as undo:
            undo.callback(_unlock, handles)
            with suppress(AlreadyRunning) if force else nullcontext():
                if request:
                    handles.append(_lock_file(_request_path(home, request), run))
            handles.append(_lock_file(_run_path(home, run), run))
            undo.pop_all()
        return cls(handles, run)

    @classmethod
    def acquire_path(cls, path: Path, name: str) -> Self:
        """Lock any other path. Raise AlreadyRunning if another process has it."""
        return cls([_lock_file(path, name)], name)

    def confirm(self) -> None:
        """Do nothing: see `lost`."""

    def release(self) -> None:
        _unlock(self._handles)
        self._handles = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


class FileLeases:
    """Locks in the folders of runs and requests below a home."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def acquire(self, run: str, request: str = "", *, force: bool = False) -> FileLease:
        """Lock the run and its request. Raise AlreadyRunning, with the run's id, if another process
        has one; with `force` only for the run.
        """
        return FileLease.acquire(self._home, run, request, force=force)

    def find_holder(self, run: str) -> LeaseHolder | None:
        """Return the process that drives the run, or None."""
        return find_path_holder(_run_path(self._home, run))

    def find_holders(self, runs: Sequence[str]) -> dict[str, LeaseHolder]:
        """Return the processes that drive these runs, by run; others are left out."""
        return {run: holder for run in runs if (holder := self.find_holder(run)) is not None}


def find_path_holder(path: Path) -> LeaseHolder | None:
    """Return the process that has the lock of `FileLease.acquire_path`, or None."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise make_store_error(error, path, "read") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_holder(handle)
    finally:
        os.close(handle)
    return None


def _run_path(home: Path, run: str) -> Path:
    return home / "runs" / _file_name(run) / "lock"


def _request_path(home: Path, request: str) -> Path:
    return home / "requests" / f"{_file_name(request)}.lock"


def _file_name(name: str) -> str:
    if _PLAIN.fullmatch(name):
        return name
    return sha256(name.encode(errors="surrogatepass")).hexdigest()


def _lock_file(path: Path, name: str) -> int:
    with convert_errors(path, "locked"), ExitStack() as undo:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        undo.callback(os.close, handle)
        if not _try_lock(handle):
            raise _running_error(_read_holder(handle))
        os.ftruncate(handle, 0)
        os.pwrite(handle, msgspec.json.encode(LeaseHolder(os.getpid(), name)), 0)
        undo.pop_all()
    return handle


def _try_lock(handle: int) -> bool:
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        else:
            return True
    return False


def _read_holder(handle: int) -> LeaseHolder:
    try:
        return parse_json(os.pread(handle, 4096, 0), LeaseHolder)
    except msgspec.MsgspecError:
        return LeaseHolder()  # locked this moment, and not written yet


def _running_error(holder: LeaseHolder) -> AlreadyRunning:
    who = f"process {holder.pid}" if holder.pid else "another process"
    return AlreadyRunning(
        f"run {holder.run or '(starting)'} is already at work on this, in {who}",
        run=holder.run,
        hint=f"punchlist status {holder.run}".strip(),
    )


def _unlock(handles: list[int]) -> None:
    for handle in handles:
        # Closing alone is not enough: a child between fork and exec has the file open too.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
