"""Files that surfaces keep in the state folder, readable by their owner only."""

from pathlib import Path

from punchlist.adapters.store.atomic_write import write_atomic
from punchlist.adapters.store.permissions import keep_private
from punchlist.errors import StoreError

_HINT = "point PUNCHLIST_HOME at a folder that can be written"


def write_state(home: Path, name: str, content: bytes) -> Path:
    """Write a file atomically at a path relative to the state folder, and return that path."""
    path = home / name
    try:
        keep_private(home)
        write_atomic(path, content)
    except OSError as error:
        raise StoreError(f"{path}: cannot be written: {error.strerror}", hint=_HINT) from error
    return path
