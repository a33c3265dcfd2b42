"""Files of a run that clients may read: all in its folder but agents' homes and locks."""

from pathlib import Path

from punchlist.app.state_folder import list_run_files
from punchlist.settings import run_folder
from punchlist.web.schemas import ArtifactLine

_LARGEST = 32 * 1024 * 1024


def list_artifacts(home: Path, run: str) -> tuple[ArtifactLine, ...]:
    sizes = list_run_files(home, run)
    return tuple(ArtifactLine(name, size) for name, size in sizes.items())


def read_artifact(home: Path, run: str, name: str) -> bytes | None:
    """Return the content of a listed file, or None; a requested name is never used as a path."""
    for each in list_artifacts(home, run):
        if each.name == name and each.size <= _LARGEST:
            return (run_folder(home, run) / each.name).read_bytes()
    return None
