"""Paths as reporters write them, brought to the one form a finding has: below the root, with
forward slashes.
"""

import re
from posixpath import isabs, normpath
from urllib.parse import unquote, urlsplit

NO_FILE = "no file is named"
DIRECTORY = "names a directory, not a file"
OUTSIDE = "lies outside the repository"

_DRIVE = re.compile(r"^/?([A-Za-z]):(?=/)")
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


def normal_path(raw: str, root: str, *, literal: bool = False) -> tuple[str, str]:
    """The path below `root`, and what is odd about it (empty if nothing is); an odd path is kept,
    never dropped.

    `literal` is for reporters that write names as the disk has them: there a backslash or "%20" is
    part of the name.
    """
    if not raw.strip():
        return "", NO_FILE
    path = raw if literal else _plain(raw)
    below = _below(normpath(path), normpath(root if literal else _plain(root)))
    if below is None:
        return normpath(path), OUTSIDE
    if below == "." or path.endswith("/"):
        return below, DIRECTORY
    return below, ""


def _plain(raw: str) -> str:
    """A URI, an escaped or a Windows path as a plain one."""
    path = raw.strip()
    if path[:5].lower() == "file:":
        path = unquote(urlsplit(path).path, errors="surrogateescape")
    elif _ESCAPE.search(path):
        path = unquote(path, errors="surrogateescape")
    return _DRIVE.sub(lambda drive: f"/{drive[1].upper()}:", path.replace("\\", "/"))


def _below(path: str, root: str) -> str | None:
    """The path relative to the root; None where it leads out of it."""
    if not isabs(path):
        return None if path == ".." or path.startswith("../") else path
    # POSIX keeps a leading double slash apart; no reporter means that by it.
    path, root = "/" + path.lstrip("/"), "/" + root.strip("/")
    if path == root:
        return "."
    prefix = root if root.endswith("/") else root + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None
