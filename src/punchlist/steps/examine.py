"""One batch of an agent's, looked at by itself."""

from msgspec import Struct

from punchlist.model.events import Examined
from punchlist.model.run import Run
from punchlist.ports import World


class Examine(Struct, frozen=True):
    batch: int


async def examine(task: Examine, run: Run, world: World) -> Examined:  # noqa: ARG001 - the signature of every performer
    return Examined(batch=task.batch)
