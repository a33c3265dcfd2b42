"""Delete folders by descriptors and without recursion, however deep, locked or odd they are."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_PLACE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 3
"""A process that is still ending may write while its folder is deleted."""

SET_ASIDE = "set-aside"
"""The folder of the state for what could not be deleted; `punchlist clean` tries again."""

_Identity = tuple[int, int]


def remove_folder(folder: Path) -> bool:
    """Delete a folder with all that is in it, or the file or link at that path; return whether
    something was there and nothing is now. Links are not followed, other file systems not entered.
    """
    if not os.path.lexists(folder):
        return False
    for _ in range(_TRIES):
        with suppress(OSError):
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                folder.unlink()
                return True
            _empty_folder(folder)
            folder.rmdir()
        if not os.path.lexists(folder):
            return True
    return False


def discard_folder(folder: Path, aside: Path) -> Path | None:
    """Delete a folder. What cannot be deleted is renamed into `aside`; return where it is then, or
    None if it is gone.
    """
    if remove_folder(folder) or not os.path.lexists(folder):
        return None
    place = aside / f"{folder.name}-{secrets.token_hex(4)}"
    try:
        aside.mkdir(parents=True, exist_ok=True)
        folder.rename(place)
    except OSError:
        return folder
    return place


def list_set_aside(aside: Path) -> list[Path]:
    """Return what was set aside there."""
    try:
        return sorted(aside.iterdir())
    except OSError:
        return []


def _empty_folder(folder: Path) -> None:
    """Delete what is in the folder, as far as that is possible. One descriptor is open at a time:
    the way back leads over `..`, which must be the folder that was left.
    """
    here = _open_folder(None, str(folder))
    if here is None:
        return
    try:
        device = os.fstat(here).st_dev
        way: list[tuple[_Identity, str]] = []
        waiting = [_delete_files(here)]
        while True:
            if waiting[-1]:
                name = waiting[-1].pop()
                inner = _open_folder(here, name)
                if inner is None:
                    continue
                if os.fstat(inner).st_dev != device:  # a mount point
                    os.close(inner)
                    continue
                way.append((_identify(here), name))
                here = _swap(here, inner)
                waiting.append(_delete_files(here))
            elif way:
                waiting.pop()
                left, name = way.pop()
                here = _swap(here, os.open("..", _FOLDER, dir_fd=here))
                if _identify(here) != left:  # another process moved it meanwhile
                    return
                with suppress(OSError):
                    os.rmdir(name, dir_fd=here)
            else:
                return
    finally:
        os.close(here)


def _swap(old: int, new: int) -> int:
    os.close(old)
    return new


def _identify(handle: int) -> _Identity:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def _delete_files(here: int) -> list[str]:
    """Delete all that is not a folder, and the empty folders; return the names of the others."""
    with os.scandir(here) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    left = []
    for name, is_folder in found:
        try:
            (os.rmdir if is_folder else os.unlink)(name, dir_fd=here)
        except FileNotFoundError:
            continue
        except OSError:
            if is_folder:
                left.append(name)
    return left


def _open_folder(below: int | None, name: str) -> int | None:
    """Open a folder that can be emptied: its owner gets the rights for that first."""
    with suppress(OSError):
        place = os.open(name, _PLACE, dir_fd=below)
        try:
            wanted = stat.S_IRWXU
            if os.fstat(place).st_mode & wanted != wanted:
                with suppress(OSError):  # by its descriptor: a name could be a link by now
                    os.chmod(f"/proc/self/fd/{place}", wanted)  # noqa: PTH101  # a descriptor
            return os.open(".", _FOLDER, dir_fd=place)
        finally:
            os.close(place)
    return None
