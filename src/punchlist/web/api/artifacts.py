"""Files of a run that clients may read: all in its folder but agents' homes and locks."""

import asyncio

from punchlist.ports.artifacts import Artifacts
from punchlist.web.schemas import ArtifactLine

_LARGEST = 32 * 1024 * 1024


async def list_artifacts(artifacts: Artifacts) -> tuple[ArtifactLine, ...]:
    sizes = await asyncio.to_thread(artifacts.list_sizes)
    return tuple(ArtifactLine(name, size) for name, size in sizes.items())


async def read_artifact(artifacts: Artifacts, name: str) -> bytes | None:
    """Return the content of a listed file, or None; a requested name is never used as a path."""
    size = (await asyncio.to_thread(artifacts.list_sizes)).get(name)
    small = size is not None and size <= _LARGEST
    return await asyncio.to_thread(artifacts.read, name) if small else None
