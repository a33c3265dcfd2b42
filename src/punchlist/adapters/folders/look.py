"""Ask what is at a path of a checkout or an environment; the answer is never an error.

A link there may lead in a circle, to a folder that this user may not enter, or to a name that is
too long. `pathlib` raises for these, and one such file would end every command.
"""

import os
from pathlib import Path


def path_exists(path: Path | str) -> bool:
    """Return whether something is there that this user can reach, behind links, too."""
    return os.path.exists(path)


def is_file(path: Path | str) -> bool:
    """Return whether a plain file is there that this user can reach, behind links, too."""
    return os.path.isfile(path)


def is_folder(path: Path | str) -> bool:
    """Return whether a folder is there that this user can reach, behind links, too."""
    return os.path.isdir(path)


def read_text(path: Path | str) -> str:
    """Return the text of a plain file that names paths, '' if this user cannot read one there: a
    pipe would never end.
    """
    try:
        return Path(path).read_text(errors="surrogateescape") if is_file(path) else ""
    except OSError:
        return ""


def list_folder(folder: Path, pattern: str = "*") -> list[Path]:
    """Return the sorted paths in a folder that match; none where this user may not look."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def is_link(path: Path | str) -> bool:
    return os.path.islink(path)


def resolve_path(path: Path | str) -> Path:
    """Return the absolute path without links; a link that leads in a circle stays as it is, and so
    does a name that can be none.
    """
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return Path(path)
