"""Make folders that are deleted after use, whatever the programs that used them left in there."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from punchlist.adapters.folders.remove import remove_folder


@contextmanager
def temporary_folder(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """Lend a new folder that only this user can read. What cannot be deleted afterwards stays, and
    stops nothing.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
    try:
        yield folder
    finally:
        remove_folder(folder)
