"""Open a child's way to the proxy: a listening socket that its launcher passes out.

The launcher opens 127.0.0.1:3128 inside the child's network namespace and sends the listening
descriptor over an inherited socket pair. The proxy outside accepts on it, so the socket says which
child asks. Then the launcher becomes the child's command.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from punchlist.adapters.egress.model_usage import ModelMeter
from punchlist.adapters.egress.policy import PORT, URL, EgressPolicy
from punchlist.adapters.egress.proxy import USUAL_LIMITS, EgressProxy, ProxyLimits
from punchlist.adapters.egress.traffic import EgressLog
from punchlist.adapters.folders.look import resolve_path
from punchlist.adapters.sandbox.installations import launcher_python

_LAUNCHER = """
import os, socket, sys
out = socket.socket(fileno=int(sys.argv[1]))
door = socket.socket()
door.bind(("127.0.0.1", int(sys.argv[2])))
door.listen(128)
socket.send_fds(out, [b"d"], [door.fileno()])
ready = out.recv(1)
out.close()
door.close()
if not ready:
    sys.exit("the egress proxy is gone")
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    print(f"launcher: {sys.argv[3]}: {error.strerror}", file=sys.stderr)
    sys.exit(127)
"""
_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True)
class Egress:
    """What a child may reach, and the log of what it did."""

    policy: EgressPolicy
    log: EgressLog = field(default_factory=EgressLog)
    limits: ProxyLimits = USUAL_LIMITS
    meter: ModelMeter | None = None
    """What its requests to its model are counted by, and limited."""


@dataclass(frozen=True)
class Door:
    """How a child is started: what comes before its command, and a descriptor it inherits."""

    launcher: tuple[str, ...]
    descriptors: tuple[int, ...]


@asynccontextmanager
async def open_door(egress: Egress) -> AsyncIterator[Door]:
    """Serve the proxy of the child that is started with the door."""
    ours, theirs = socket.socketpair()
    proxy = EgressProxy(egress.policy, egress.log, egress.limits, meter=egress.meter)
    serving = asyncio.create_task(_serve_door(ours, proxy))
    fd = theirs.fileno()
    launcher = (launcher_python(), "-I", "-S", "-c", _LAUNCHER, str(fd), str(PORT))
    try:
        yield Door(launcher, (fd,))
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await proxy.close()
        ours.close()
        theirs.close()


async def _serve_door(ours: socket.socket, proxy: EgressProxy) -> None:
    """Wait for the listening socket, serve it, and let the launcher go on."""
    loop = asyncio.get_running_loop()
    ours.settimeout(0)
    readable = asyncio.Event()
    loop.add_reader(ours, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(ours)
    _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
    if descriptors:
        await proxy.listen(socket.socket(fileno=descriptors[0]))
        await loop.sock_sendall(ours, b"g")


def launcher_folders() -> tuple[Path, ...]:
    """Return what the launcher needs of the file system, if that is not below /usr."""
    program = Path(launcher_python())
    library = resolve_path(Path(os.__file__)).parent
    return tuple(path for path in (program, library) if not path.is_relative_to("/usr"))


def proxy_environment(*, loopback: bool = False) -> dict[str, str]:
    """Return the variables by which programs use the proxy; `loopback`: also for 127.0.0.1."""
    proxies = {name: URL for upper in _VARIABLES for name in (upper, upper.lower())}
    direct = "" if loopback else "127.0.0.1,localhost"
    return {**proxies, "NO_PROXY": direct, "no_proxy": direct, "NODE_USE_ENV_PROXY": "1"}
