"""Write files atomically and durably."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from punchlist.adapters.folders.look import path_exists
from punchlist.adapters.store.errors import convert_errors


def write_atomic(path: Path, content: bytes) -> None:
    """Write a temporary file, flush it to disk and rename it to `path`."""
    with _write_beside(path, content) as written:
        written.replace(path)


def store_file(path: Path, content: bytes) -> None:
    """Write a file of the state folder atomically. Raise StoreError if that fails."""
    with convert_errors(path, "written"):
        write_atomic(path, content)


def create_file(path: Path, content: bytes) -> bool:
    """Write a file of the state folder as one step, unless there is one; return whether it was
    written. Raise StoreError if that fails.
    """
    with convert_errors(path, "written"), _write_beside(path, content) as written:
        try:
            path.hardlink_to(written)
        except FileExistsError:
            return False
        except OSError:  # a file system without links; a lease keeps others away there
            if path_exists(path):
                return False
            written.replace(path)
    return True


@contextmanager
def _write_beside(path: Path, content: bytes) -> Iterator[Path]:
    """Yield a temporary file with the content, in the folder of `path`; it is gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    with ExitStack() as undo:
        undo.callback(Path(name).unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
