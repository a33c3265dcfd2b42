"""Files of a run that clients may read: all in its folder but agents' homes and locks."""

import os
from pathlib import Path

from punchlist.settings import run_folder
from punchlist.web.schemas import ArtifactLine

_PRIVATE = frozenset({"agents", "lock", "stop"})
"""Agents' own homes may hold their logins."""
_LARGEST = 32 * 1024 * 1024


def list_artifacts(home: Path, run: str) -> tuple[ArtifactLine, ...]:
    folder = run_folder(home, run)
    found = []
    for below, folders, files in os.walk(folder):
        here = Path(below)
        if here == folder:
            folders[:] = [name for name in folders if name not in _PRIVATE]
        for path in (here / name for name in files if not name.startswith(".")):
            name = path.relative_to(folder).as_posix()
            if name not in _PRIVATE and not path.is_symlink() and path.is_file():
                found.append(ArtifactLine(name, path.stat().st_size))
    return tuple(sorted(found, key=lambda each: each.name))


def read_artifact(home: Path, run: str, name: str) -> bytes | None:
    """Return the content of a listed file, or None; a requested name is never used as a path."""
    for each in list_artifacts(home, run):
        if each.name == name and each.size <= _LARGEST:
            return (run_folder(home, run) / each.name).read_bytes()
    return None
