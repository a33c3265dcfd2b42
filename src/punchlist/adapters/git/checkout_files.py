"""Write files that the user asked for into the checkout, never through a link or out of it."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from punchlist.adapters.folders.look import is_file, is_folder, is_link, path_exists
from punchlist.errors import RepositoryError, UsageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_HINT = "name a folder from the root of the repository, for example docs/progress"
_LARGEST = 1 << 20


def check_folder(root: Path, named: str) -> str:
    """Return the folder as a path from the root, or '' for none. Raise UsageError if it leads out
    of the checkout, into git's own folder, or over a link or a file.
    """
    if not named:
        return ""
    parts = [part for part in named.split("/") if part != "."]
    while parts and not parts[-1]:
        parts.pop()
    if why := _explain_refusal(parts):
        raise UsageError(f"documents: {named!r} {why}", hint=_HINT)
    place = root
    for part in parts:
        place /= part
        if is_link(place) or (path_exists(place) and not is_folder(place)):
            what = f"documents: {named!r}: {place.relative_to(root)} is a link or a file"
            raise UsageError(what, hint=_HINT)
    return "/".join(parts)


def _explain_refusal(parts: list[str]) -> str:
    """Return what is wrong with a path by its text alone, or ''."""
    if not parts:
        return "is the root of the repository itself, or nothing"
    if not parts[0] or ".." in parts:
        return "leads out of the repository"
    if any(part.casefold() == ".git" for part in parts):
        return "leads into git's own folder"
    odd = any(not part or "\\" in part or not part.isprintable() for part in parts)
    return "is no plain path" if odd else ""


def write_checkout_file(root: Path, path: str, content: bytes, heading: bytes) -> None:
    """Write the file below the root; one that is there is replaced only if its first line holds
    `heading`. Raise RepositoryError if a link, a file or other content is in the way.
    """
    *folders, name = path.split("/")
    try:
        with _open_folder(root, folders) as folder:
            _check_replaceable(folder, name, path, heading)
            _replace_file(folder, name, content)
    except OSError as error:
        links = (errno.ELOOP, errno.ENOTDIR)
        why = "a link or a file is in the way" if error.errno in links else error.strerror
        raise RepositoryError(f"{path}: cannot be written: {why}", hint=_HINT) from error


def replace_folder(root: Path, path: str, contents: Mapping[str, bytes]) -> None:
    """Write these files into the folder below the root, and remove all other plain files in it.
    Files that are as they should be are left alone.
    """
    for name, content in contents.items():
        if read_plain_file(root, f"{path}/{name}") != content:
            write_checkout_file(root, f"{path}/{name}", content, b"")
    for name in list_plain_files(root, path):
        if name not in contents:
            remove_checkout_file(root, f"{path}/{name}")


def remove_checkout_file(root: Path, path: str) -> bool:
    """Remove a file below the root; return whether it was there."""
    *folders, name = path.split("/")
    if name not in list_plain_files(root, "/".join(folders)):
        return False
    with _open_folder(root, folders) as folder:
        os.unlink(name, dir_fd=folder)
    return True


def list_plain_files(root: Path, path: str) -> list[str]:
    """Return the names of the plain files in a folder below the root, sorted; () through links."""
    if any(is_link(place) for place in _list_places(root, path)):
        return []
    try:
        entries = list(os.scandir(root / path))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def read_plain_file(root: Path, path: str) -> bytes | None:
    """Return a plain file below the root; None if there is none, or a link is on the way."""
    if any(is_link(place) for place in _list_places(root, path)):
        return None
    place = root / path
    return place.read_bytes() if is_file(place) else None


def _list_places(root: Path, path: str) -> list[Path]:
    parts = path.split("/")
    return [root.joinpath(*parts[:count]) for count in range(1, len(parts) + 1)]


@contextmanager
def _open_folder(root: Path, folders: list[str]) -> Iterator[int]:
    """Open the folder, making those that are missing; no part of the way may be a link."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in folders:
            with suppress(FileExistsError):
                os.mkdir(name, 0o777, dir_fd=handle)
            inner = os.open(name, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        yield handle
    finally:
        os.close(handle)


def _check_replaceable(folder: int, name: str, path: str, heading: bytes) -> None:
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return
    with os.fdopen(handle, "rb") as file:
        plain = stat.S_ISREG(os.fstat(handle).st_mode)
        if not plain or heading not in file.readline(_LARGEST):
            what = f"{path}: is there already, and is no findings document"
            raise RepositoryError(what, hint="move it away, or choose another folder")


def _replace_file(folder: int, name: str, content: bytes) -> None:
    draft = f".{secrets.token_hex(8)}.tmp"
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)
        raise
