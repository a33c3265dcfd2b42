"""Evidence and reports of one run, as files in its folder."""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath

from punchlist.adapters.folders.look import is_file, is_folder, is_link
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.folders.walk import skip_folder, walk_folder
from punchlist.adapters.store.atomic_write import create_file, store_file
from punchlist.adapters.store.errors import convert_errors
from punchlist.errors import StoreError
from punchlist.ports.artifacts import Tell

_LONGEST_NAME = 200
_PRIVATE = frozenset({"agents", "lock", "stop"})
"""Not for others: agents' own homes may hold their logins."""


class PinnedFiles:
    """Files that are read as the ledger recorded them, or not at all."""

    def __init__(self) -> None:
        self._pins: dict[str, str] = {}

    def pin(self, pins: Mapping[str, str]) -> None:
        self._pins.update(pins)

    def read(self, name: str) -> bytes | None:
        pin = self._pins.get(name, "")
        content = self._load(name, pin)
        if pin and content is not None and sha256(content).hexdigest() != pin:
            raise StoreError(
                f"{self.locate(name)} is not what the ledger recorded: it was changed",
                hint="put the file back as it was; `punchlist audit` names all that were changed",
            )
        return content

    def _require(self, name: str) -> bytes:
        stored = self.read(name)
        if stored is None:
            raise StoreError(f"{self.locate(name)} was removed while it was written")
        return stored

    def locate(self, name: str) -> str:
        """Return where users find the file."""
        raise NotImplementedError

    def _load(self, name: str, pin: str) -> bytes | None:
        """Return the content; a copy whose hash is `pin` will do."""
        raise NotImplementedError


class FolderArtifacts(PinnedFiles):
    """Names are relative paths with forward slashes; none leaves the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def write(self, name: str, content: bytes) -> str:
        """Store the content atomically and return its path."""
        store_file(self._resolve_name(name), content)
        return self.locate(name)

    def create(self, name: str, content: bytes) -> bytes | None:
        return None if create_file(self._resolve_name(name), content) else self._require(name)

    def locate(self, name: str) -> str:
        return str(self._resolve_name(name))

    def remove(self) -> bool:
        return remove_folder(self._folder)

    def _load(self, name: str, pin: str) -> bytes | None:
        path = self._resolve_name(name)
        with convert_errors(path, "read"):
            try:
                return path.read_bytes()
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                return None

    def list_sizes(self) -> dict[str, int]:
        """Return the size of each file by name, but for agents' homes and locks."""
        found = {}
        for below, folders, files in walk_folder(self._folder, beyond=skip_folder):
            here = Path(below)
            if here == self._folder:
                folders[:] = [name for name in folders if name not in _PRIVATE]
            for path in (here / name for name in files if not name.startswith(".")):
                name = path.relative_to(self._folder).as_posix()
                if name not in _PRIVATE and not is_link(path) and is_file(path):
                    found[name] = path.stat().st_size
        return dict(sorted(found.items()))

    def _resolve_name(self, name: str) -> Path:
        return self._folder.joinpath(PurePosixPath(check_name(name)))


class FolderStore:
    """The files of runs, each in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, run: str, tell: Tell) -> FolderArtifacts:
        return FolderArtifacts(self._folder / run)

    def list_runs(self) -> frozenset[str]:
        return frozenset(each.name for each in self._folder.glob("*") if is_folder(each))


def check_name(name: str) -> str:
    """Return the name. Raise StoreError if it could lead out of the run's folder."""
    if not all(_is_plain(part) for part in name.split("/")):
        raise StoreError(
            f"{name!r} is no name for an artifact",
            hint="use letters, digits and ./_-, without leading dots",
        )
    return name


def _is_plain(part: str) -> bool:
    """Return whether a path part is allowed; leading dots (temporary files, `.`, `..`) are not."""
    if not part or part[0] == "." or "\\" in part:
        return False
    return part.isprintable() and len(part.encode(errors="replace")) <= _LONGEST_NAME
