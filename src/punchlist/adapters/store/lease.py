"""Two processes never drive one run: a kernel lock that ends with the process, however it ends."""

import fcntl
import os
import re
import time
from contextlib import ExitStack, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from punchlist.adapters.store.errors import told
from punchlist.errors import AlreadyRunning

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_TRIES = 4
_PAUSE = 0.05
"""Somebody who only looks whether a run is alive holds the lock for a moment; then it is worth
another try.
"""


class Holder(Struct, frozen=True):
    """Who has a lock: what messages need."""

    pid: int = 0
    run: str = ""


class Lease:
    """The right to drive one run, and to be the only one at work on its request."""

    def __init__(self, handles: tuple[int, ...], run: str) -> None:
        self._handles = handles
        self.run = run

    @classmethod
    def take(cls, home: Path, run: str, request: str = "", *, force: bool = False) -> Self:
        """Raises AlreadyRunning, with the id of the run at work, if another process has the run or
        the same request. With `force` the request is had if it is free, and done without if it is
        not.
        """
        handles: list[int] = []
        with ExitStack() as undo:
            undo.callback(_close, handles)
            with suppress(AlreadyRunning) if force else nullcontext():
                handles += (
                    [_lock(_request_path(home, request), Holder(os.getpid(), run))]
                    if request
                    else []
                )
            handles.append(_lock(_run_path(home, run), Holder(os.getpid(), run)))
            undo.pop_all()
        return cls(tuple(handles), run)

    @classmethod
    def of(cls, path: Path, name: str) -> Self:
        """The right to anything else that only one may have, by the path of its lock; raises
        AlreadyRunning as well.
        """
        return cls((_lock(path, Holder(os.getpid(), name)),), name)

    def release(self) -> None:
        _close(self._handles)
        self._handles = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()


def holder(home: Path, run: str) -> Holder | None:
    """Who drives the run right now; None if nobody does."""
    return _held_by(_run_path(home, run))


def held(path: Path) -> Holder | None:
    """Who has what `Lease.of` gives; None if nobody does."""
    return _held_by(path)


def _run_path(home: Path, run: str) -> Path:
    return home / "runs" / _file_name(run) / "lock"


def _request_path(home: Path, request: str) -> Path:
    return home / "requests" / f"{_file_name(request)}.lock"


def _file_name(name: str) -> str:
    return (
        name if _PLAIN.fullmatch(name) else sha256(name.encode(errors="surrogatepass")).hexdigest()
    )


def _lock(path: Path, holder: Holder) -> int:
    handle = _opened(path)
    try:
        if _locked(handle, _TRIES):
            os.ftruncate(handle, 0)
            os.pwrite(handle, msgspec.json.encode(holder), 0)
            return handle
        other = _read(handle)
    except OSError as error:
        os.close(handle)
        raise told(error, path, "locked") from error
    os.close(handle)
    raise _taken(other)


def _opened(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise told(error, path, "locked") from error


def _locked(handle: int, tries: int) -> bool:
    for left in reversed(range(tries)):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        else:
            return True
    return False


def _held_by(path: Path) -> Holder | None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise told(error, path, "read") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(handle)
    finally:
        os.close(handle)
    return None


def _read(handle: int) -> Holder:
    try:
        return msgspec.json.decode(os.pread(handle, 4096, 0), type=Holder)
    except msgspec.MsgspecError:
        return Holder()  # taken this very moment, and not signed yet


def _taken(holder: Holder) -> AlreadyRunning:
    who = f"process {holder.pid}" if holder.pid else "another process"
    return AlreadyRunning(
        f"run {holder.run or '(starting)'} is already at work on this, in {who}",
        run=holder.run,
        hint=f"punchlist status {holder.run}".strip(),
    )


def _close(handles: "list[int] | tuple[int, ...]") -> None:
    for handle in handles:
        # Closing alone is not enough: a child between fork and exec has the file open too.
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
