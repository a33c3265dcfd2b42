"""Evidence and reports of one run, as files in its folder."""

import os
from pathlib import Path, PurePosixPath

from punchlist.adapters.store.atomic_write import store_file
from punchlist.adapters.store.errors import convert_errors
from punchlist.errors import StoreError

_LONGEST_NAME = 200
_PRIVATE = frozenset({"agents", "lock", "stop"})
"""Not for others: agents' own homes may hold their logins."""


class FolderArtifacts:
    """Names are relative paths with forward slashes; none leaves the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, content: bytes) -> str:
        """Store the content atomically and return its path."""
        path = self._resolve_name(name)
        store_file(path, content)
        return str(path)

    def read(self, name: str) -> bytes | None:
        path = self._resolve_name(name)
        with convert_errors(path, "read"):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                return None

    def list_sizes(self) -> dict[str, int]:
        """Return the size of each file by name, but for agents' homes and locks."""
        found = {}
        for below, folders, files in os.walk(self._folder):
            here = Path(below)
            if here == self._folder:
                folders[:] = [name for name in folders if name not in _PRIVATE]
            for path in (here / name for name in files if not name.startswith(".")):
                name = path.relative_to(self._folder).as_posix()
                if name not in _PRIVATE and not path.is_symlink() and path.is_file():
                    found[name] = path.stat().st_size
        return dict(sorted(found.items()))

    def _resolve_name(self, name: str) -> Path:
        parts = name.split("/")
        if not all(_is_plain(part) for part in parts):
            raise StoreError(
                f"{name!r} is no name for an artifact",
                hint="use letters, digits and ./_-, without leading dots",
            )
        return self._folder.joinpath(PurePosixPath(*parts))


def _is_plain(part: str) -> bool:
    """Return whether a path part is allowed; leading dots (temporary files, `.`, `..`) are not."""
    if not part or part[0] == "." or "\\" in part:
        return False
    return part.isprintable() and len(part.encode(errors="replace")) <= _LONGEST_NAME
