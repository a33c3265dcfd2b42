"""What the state folder holds is its owner's alone: findings quote code, and code
may hold secrets.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

_FOLDERS = ("runs", "repos", "requests")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private(home: Path) -> None:
    """Makes the state folder, and closes what is in it to others; one that was there is somebody's,
    and stays as it is.
    """
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in _FOLDERS:
        folder = home / name
        folder.mkdir(exist_ok=True, mode=0o700)
        _close(folder)


def keep_file_private(path: Path) -> None:
    """A file that only its owner reads; what SQLite makes beside it takes the same mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    _close(path)


def _close(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        with suppress(PermissionError):  # another's, who lets us use it
            path.chmod(mode & ~_OTHERS)
