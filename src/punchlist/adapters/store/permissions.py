"""Restrict the state folder to its owner: findings quote code, which may hold secrets."""

import os
import stat
from contextlib import suppress
from pathlib import Path

_FOLDERS = ("runs", "repos", "requests")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def keep_private(home: Path) -> None:
    """Create the state folder, unless it exists, and its subfolders, for its owner only."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in _FOLDERS:
        folder = home / name
        folder.mkdir(exist_ok=True, mode=0o700)
        _restrict_mode(folder)


def keep_file_private(path: Path) -> None:
    """Create a file that only its owner can read; SQLite's side files get the same mode."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    _restrict_mode(path)


def _restrict_mode(path: Path) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _OTHERS:
        with suppress(PermissionError):  # it belongs to another user, who lets us use it
            path.chmod(mode & ~_OTHERS)
