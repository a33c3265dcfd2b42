"""Run a sandboxed child that reaches hosts outside only through its proxy."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from punchlist.adapters.egress.door import Egress, launcher_folders, open_door
from punchlist.adapters.process.run import MISSING, Origin, OutputWatch, ProcessResult, run
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import can_hold_network

_NOT_FOUND = 127


async def run_behind_proxy(  # noqa: PLR0913  # all that describes one child
    command: Sequence[str],
    egress: Egress | None,
    walls: Sandbox | None,
    *,
    origin: Origin,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,  # noqa: ASYNC109  # it ends the child in time
    stdin: bytes = b"",
    limit: int = 64 << 20,
    trim: bool = False,
    watch: OutputWatch | None = None,
) -> ProcessResult:
    """Run a command as `run` does, without network but for what `egress` allows.

    Without `egress`, or where the network cannot be kept from it, it has the network: the launcher
    would listen on the machine itself.
    """
    start = partial(
        run,
        origin=origin,
        cwd=cwd,
        env=env,
        timeout=timeout,
        stdin=stdin,
        limit=limit,
        trim=trim,
        watch=watch,
    )
    if egress is None or walls is None or not can_hold_network():
        return await start(command, walls=replace(walls, network=True) if walls else None)
    shown = tuple((path, path, False) for path in launcher_folders())
    held = replace(walls, network=False, binds=(*shown, *walls.binds))
    async with open_door(egress) as door:
        line = [*door.launcher, *command]
        ran = await start(line, walls=held, pass_fds=door.descriptors)
    ran = replace(ran, command=tuple(command))
    failed = f"launcher: {command[0]}: ".encode()
    if ran.exit_code == _NOT_FOUND and ran.stderr.startswith(failed):
        return replace(ran, trouble=f"{MISSING}: {command[0]}")
    return ran
