"""Files of a run that clients may read: all in its folder but agents' homes and locks."""

from punchlist.ports.artifacts import Artifacts
from punchlist.web.schemas import ArtifactLine

_LARGEST = 32 * 1024 * 1024


def list_artifacts(artifacts: Artifacts) -> tuple[ArtifactLine, ...]:
    return tuple(ArtifactLine(name, size) for name, size in artifacts.list_sizes().items())


def read_artifact(artifacts: Artifacts, name: str) -> bytes | None:
    """Return the content of a listed file, or None; a requested name is never used as a path."""
    size = artifacts.list_sizes().get(name)
    return artifacts.read(name) if size is not None and size <= _LARGEST else None
