"""JSON files that several processes change: one after the other, whole at every moment."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.adapters.store.errors import convert_errors
from punchlist.adapters.store.permissions import keep_private
from punchlist.errors import StoreError
from punchlist.model.ledger import codec as wire

T = TypeVar("T")


class JsonFile(Generic[T]):
    """A file of the state folder with one value. A damaged one counts as empty, or is a StoreError
    with this remedy.
    """

    def __init__(self, home: Path, name: str, empty: T, kind: Any, remedy: str = "") -> None:
        self._home = home
        self._path = home / name
        self._empty = empty
        self._kind = kind
        self._remedy = remedy

    def read(self) -> T:
        try:
            content: T = wire.decode(self._path.read_bytes(), self._kind)
        except FileNotFoundError:
            return self._empty
        except (OSError, msgspec.MsgspecError) as error:
            if not self._remedy:
                return self._empty
            message = f"{self._path}: cannot be read: {error}"
            raise StoreError(message, hint=self._remedy) from error
        return content

    def change(self, edit: Callable[[T], T]) -> bool:
        """Replace the value by what `edit` makes of it; return whether that is another."""
        with convert_errors(self._path, "written"):
            keep_private(self._home)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with _lock_folder(self._path.parent):
                before = self.read()
                after = edit(before)
                if after != before:
                    write_atomic(self._path, wire.encode(after))
        return after != before


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Wait for the turn of this process in a folder; the lock ends with the process."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
