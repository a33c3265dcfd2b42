"""Convert SQLite and file system errors to StoreError."""

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from punchlist.errors import NO_ROOM, DiskFull, StoreError

_ELSEWHERE = "set PUNCHLIST_HOME to a folder you can write to"
_SPACE = "free some space, then: punchlist resume last"
_ASIDE = "move the file aside, or set PUNCHLIST_HOME to another folder"

_BY_CODE = {
    sqlite3.SQLITE_FULL: ("the disk is full", _SPACE),
    sqlite3.SQLITE_IOERR: ("the disk refused it (full, over a quota, or failing)", _SPACE),
    sqlite3.SQLITE_READONLY: ("it is read-only", _ELSEWHERE),
    sqlite3.SQLITE_CANTOPEN: ("the file cannot be opened or made", _ELSEWHERE),
    sqlite3.SQLITE_PERM: ("the file may not be opened", _ELSEWHERE),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", _ASIDE),
    sqlite3.SQLITE_NOTADB: ("the file is not a ledger", _ASIDE),
    sqlite3.SQLITE_BUSY: (
        "another process has kept it locked for long",
        "see which punchlist is running, then try again",
    ),
    sqlite3.SQLITE_TOOBIG: (
        "the entry is larger than SQLite takes",
        "review fewer files at a time",
    ),
}

_BY_ERRNO = {
    errno.ENOSPC: ("the disk is full", _SPACE),
    errno.EDQUOT: ("the disk quota is used up", _SPACE),
    errno.EFBIG: ("the file may not grow that large", _SPACE),
    errno.EROFS: ("the file system is read-only", _ELSEWHERE),
    errno.EACCES: ("permission denied", _ELSEWHERE),
    errno.EPERM: ("permission denied", _ELSEWHERE),
    errno.ENOTDIR: ("a part of the path is not a folder", _ELSEWHERE),
    errno.EEXIST: ("a file is in the way", _ELSEWHERE),
}


@contextmanager
def convert_errors(path: Path, done: str) -> Iterator[None]:
    """Raise errors of SQLite and the file system as StoreError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise make_store_error(error, path, done) from error


def make_store_error(error: sqlite3.Error | OSError, path: Path, done: str) -> StoreError:
    """Return a StoreError with the file, the failed operation, the reason and a hint."""
    kind = StoreError
    if isinstance(error, OSError):
        kind = DiskFull if error.errno in NO_ROOM else StoreError
        why, hint = _BY_ERRNO.get(error.errno or 0, (error.strerror or str(error), _ELSEWHERE))
    else:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the kind
        kind = DiskFull if code == sqlite3.SQLITE_FULL else StoreError
        why, hint = _BY_CODE.get(code, (str(error), ""))
    return kind(f"{path} cannot be {done}: {why}", hint=hint)
