"""Results of runs as files in a folder."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from punchlist.adapters.folders.look import is_folder, is_link
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.folders.walk import walk_files
from punchlist.adapters.store.artifacts import FolderArtifacts
from punchlist.adapters.store.errors import convert_errors
from punchlist.errors import StoreError
from punchlist.model.finding.late_pattern import late_pattern

RUN = late_pattern(r"\d{6}-[0-9a-f]{6}")
"""The id of a run. What is called otherwise is not punchlist's, and is left alone."""


class FolderResults:
    """`where` has only the folder's name: everyone who may read a run is shown it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.where = f".../{folder.name}"

    def put(self, run: str, name: str, content: bytes) -> None:
        with self._hide_path():
            FolderArtifacts(self._folder / run).write(name, content)

    def list_names(self, run: str) -> frozenset[str]:
        with self._hide_path():
            return frozenset(FolderArtifacts(self._folder / run).list_sizes())

    def list_runs(self) -> dict[str, float]:
        found = {}
        with convert_errors(self._folder, "read"):
            folders = self._folder.iterdir() if is_folder(self._folder) else ()
            for folder in folders:
                if RUN.fullmatch(folder.name) and is_folder(folder) and not is_link(folder):
                    files = (path.lstat().st_mtime for path in walk_files(folder))
                    found[folder.name] = max(files, default=folder.stat().st_mtime)
        return found

    def remove(self, run: str) -> None:
        with convert_errors(self._folder / run, "removed"):
            if not remove_folder(self._folder / run):
                raise OSError(errno.ENOTEMPTY, "it cannot be deleted")

    @contextmanager
    def _hide_path(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            said = str(error).replace(str(self._folder), self.where)
            raise StoreError(said, hint=error.hint) from error
