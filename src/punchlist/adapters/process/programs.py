"""Find programs, and tell whose they are: ours, the user's, or the repository's.

A program belongs to a repository if it lies in one of its work trees, or in what was made from it.
What it is called does not matter, nor who put it there.
"""

import os
import shutil
from enum import StrEnum
from functools import lru_cache
from pathlib import Path


class Origin(StrEnum):
    """Whose program a child is. The door for children wants to be told, and holds it to that."""

    OURS = "ours"
    """Our own Python without its site packages, git with a fixed configuration, bubblewrap."""
    USERS = "the user's"
    """Installed by the user, outside of checkouts and of environments that were made for them."""
    THEIRS = "the repository's"
    """Anything of a checkout or of an environment, and whatever loads code from there."""


_FOREIGN: set[Path] = set()
"""Folders whose programs belong to a repository, beside the work tree around this process."""


def mark_foreign(*folders: Path | None) -> None:
    """Note that the programs in these folders are a repository's."""
    _FOREIGN.update(_normalize(folder) for folder in folders if folder is not None)


def find_work_tree(start: Path) -> Path | None:
    """Return the nearest folder with a `.git`, from `start` upwards; git itself is not asked."""
    start = _normalize(start)
    found = (folder for folder in (start, *start.parents) if os.path.lexists(folder / ".git"))
    return next(found, None)


def is_foreign(program: str | Path) -> bool:
    """Return whether a file lies in a repository, as it is named or behind its links."""
    return _lies_in(program, _list_foreign())


def which(name: str) -> str | None:
    """Return the program on PATH that is not a repository's, or None."""
    return shutil.which(name, path=list_outer_folders())


def which_any(name: str) -> str | None:
    """Return the program on PATH, also a repository's: only for what runs behind walls."""
    return shutil.which(name, path=list_path_folders())


def list_path_folders() -> str:
    """Return PATH without folders that depend on where a program is started: `.` and
    `node_modules/.bin` would be those of the code under review.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


def list_outer_folders(path: str | None = None) -> str:
    """Return the folders of a PATH, by default ours, that are not a repository's."""
    known = list_path_folders() if path is None else path
    return _drop_foreign(known, _list_foreign())


def _lies_in(program: str | Path, roots: frozenset[Path]) -> bool:
    named = _normalize(program)
    forms = {named, Path(os.path.realpath(named)), Path(os.path.realpath(named.parent))}
    return any(form.is_relative_to(root) for root in roots for form in forms)


@lru_cache(maxsize=64)
def _drop_foreign(path: str, roots: frozenset[Path]) -> str:
    folders = [each for each in path.split(os.pathsep) if each.startswith("/")]
    return os.pathsep.join(folder for folder in folders if not _lies_in(folder, roots))


def _list_foreign() -> frozenset[Path]:
    try:
        here = Path.cwd()
    except FileNotFoundError:  # the folder was deleted
        return frozenset(_FOREIGN)
    around = _find_around(here)
    roots = {*_FOREIGN, around} if around else _FOREIGN
    return frozenset(form for root in roots for form in (root, Path(os.path.realpath(root))))


@lru_cache(maxsize=16)
def _find_around(folder: Path) -> Path | None:
    return find_work_tree(folder)


def _normalize(path: str | Path) -> Path:
    """Return the absolute path without `..`, links as they are."""
    return Path(os.path.normpath(Path(path).absolute()))
