"""A file that is there whole or not at all, whenever the power goes."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Puts the content at `path`: written beside it, flushed to the disk, then
    renamed into place.
    """
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


def _flush_folder(folder: Path) -> None:
    # Without this the rename itself may be lost in a power cut.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
