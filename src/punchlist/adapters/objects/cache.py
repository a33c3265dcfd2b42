"""Local copies of objects: not more than so many bytes, least recently used away first."""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from punchlist.adapters.store.atomic_write import write_atomic

_ROOM = 16
"""The copies are counted after each 1/16 of the bound that this process has written."""


class Copy(NamedTuple):
    content: bytes
    etag: str


class ObjectCache:
    """Processes may share the folder. What cannot be read or written is no copy, and no error."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._uncounted = limit

    def get(self, address: str) -> Copy | None:
        path = self._find_path(address)
        try:
            head, _, content = path.read_bytes().partition(b"\n")
            os.utime(path)
        except OSError:
            return None
        digest, _, etag = head.decode(errors="replace").partition(" ")
        return Copy(content, etag) if digest == sha256(content).hexdigest() else None

    def put(self, address: str, content: bytes, etag: str) -> None:
        head = f"{sha256(content).hexdigest()} {etag}\n".encode()
        size = len(head) + len(content)
        if size > self._limit // 2:
            self.drop(address)
            return
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._make_room(size)
            write_atomic(self._find_path(address), head + content)

    def drop(self, address: str) -> None:
        with suppress(OSError):
            self._find_path(address).unlink(missing_ok=True)

    def _make_room(self, size: int) -> None:
        """Delete the copies that were not used for the longest time, if there is too much."""
        self._uncounted += size
        if self._uncounted < self._limit // _ROOM:
            return
        self._uncounted = size
        found = []
        for path in self._folder.glob("*"):
            with suppress(OSError):  # another process deletes, too
                known = path.stat()
                found.append((known.st_mtime_ns, known.st_size, path))
        total = sum(each for _, each, _ in found)
        wanted = self._limit - self._limit // _ROOM - size
        for _, each, path in sorted(found):
            if total <= wanted:
                break
            with suppress(OSError):
                path.unlink()
                total -= each

    def _find_path(self, address: str) -> Path:
        return self._folder / sha256(address.encode()).hexdigest()
