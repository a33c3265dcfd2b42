"""Normalize reported paths: below the root, with forward slashes."""

from posixpath import isabs, normpath
from urllib.parse import unquote, urlsplit

from punchlist.model.finding.late_pattern import late_pattern

NO_FILE = "no file is named"
DIRECTORY = "names a directory, not a file"
OUTSIDE = "lies outside the repository"

_DRIVE = late_pattern(r"^/?([A-Za-z]):(?=/)")
_ESCAPE = late_pattern(r"%[0-9A-Fa-f]{2}")


def normalize_path(raw: str, root: str, *, literal: bool = False) -> tuple[str, str]:
    """Return the path below `root`, and what is odd about it ("" if nothing).

    `literal`: names are as on disk, so a backslash or "%20" is part of the name.
    """
    if not raw.strip():
        return "", NO_FILE
    path = raw if literal else _decode_path(raw)
    below = _relative_path(normpath(path), normpath(root if literal else _decode_path(root)))
    if below is None:
        return normpath(path), OUTSIDE
    if below == "." or path.endswith("/"):
        return below, DIRECTORY
    return below, ""


def shorten_path(path: str, most: int = 160) -> str:
    """Return a path on one line; the middle of a long one is left out."""
    shown = path if len(path) <= most else f"{path[: most // 2]}...{path[-most // 2 :]}"
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in shown
    )


def _decode_path(raw: str) -> str:
    """Convert a URI, an escaped or a Windows path to a plain one."""
    path = raw.strip()
    if path[:5].lower() == "file:":
        path = unquote(urlsplit(path).path, errors="surrogateescape")
    elif _ESCAPE.search(path):
        path = unquote(path, errors="surrogateescape")
    return _DRIVE.sub(lambda drive: f"/{drive[1].upper()}:", path.replace("\\", "/"))


def _relative_path(path: str, root: str) -> str | None:
    """Return the path relative to the root, or None if it leads outside."""
    if not isabs(path):
        return None if path == ".." or path.startswith("../") else path
    # POSIX keeps a leading double slash apart; no reporter means that by it.
    path, root = "/" + path.lstrip("/"), "/" + root.strip("/")
    if path == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return path.removeprefix(prefix) if path.startswith(prefix) else None
