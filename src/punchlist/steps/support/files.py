"""Write files of a run without holding up the event loop: their store may be away for a while."""

import asyncio
from collections.abc import Iterable, Mapping

from punchlist.ports.world import World


async def write_files(files: Mapping[str, bytes], world: World) -> tuple[str, ...]:
    """Write the files by name; return their paths for the user."""
    write = world.artifacts.write
    return tuple([await asyncio.to_thread(write, *named) for named in files.items()])


async def read_files(names: Iterable[str], world: World) -> dict[str, bytes]:
    """Return the contents of those files that exist, by name."""
    read = world.artifacts.read
    found = {name: await asyncio.to_thread(read, name) for name in names}
    return {name: content for name, content in found.items() if content is not None}
