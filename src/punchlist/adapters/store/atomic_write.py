"""Write files atomically and durably."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from punchlist.adapters.store.errors import convert_errors


def write_atomic(path: Path, content: bytes) -> None:
    """Write a temporary file, flush it to disk and rename it to `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    with ExitStack() as undo:
        undo.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
        undo.pop_all()
    _flush_folder(path.parent)


def store_file(path: Path, content: bytes) -> None:
    """Write a file of the state folder atomically. Raise StoreError if that fails."""
    with convert_errors(path, "written"):
        write_atomic(path, content)


def _flush_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
