"""Evidence and reports of one run, as files in its folder."""

from pathlib import Path, PurePosixPath

from punchlist.adapters.store.atomic_write import write_whole
from punchlist.adapters.store.errors import told
from punchlist.errors import StoreError

_LONGEST_NAME = 200


class FolderArtifacts:
    """Names are relative paths with forward slashes; none leads out of the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, name: str, content: bytes) -> str:
        """Stores it whole or not at all, and returns where a person finds it."""
        path = self._path(name)
        try:
            write_whole(path, content)
        except OSError as error:
            raise told(error, path, "written") from error
        return str(path)

    def read(self, name: str) -> bytes | None:
        path = self._path(name)
        try:
            return path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            raise told(error, path, "read") from error

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not all(_plain(part) for part in parts):
            raise StoreError(
                f"{name!r} is no name for an artifact",
                hint="use letters, digits and ./_-, without leading dots",
            )
        return self._folder.joinpath(PurePosixPath(*parts))


def _plain(part: str) -> bool:
    """A leading dot is ours (files being written), and so refuses `.` and `..` too."""
    return (
        bool(part)
        and part.isprintable()
        and part[0] != "."
        and "\\" not in part
        and len(part.encode(errors="replace")) <= _LONGEST_NAME
    )
