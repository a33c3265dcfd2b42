"""The walls around a child: what it may see, write and use up, as a command line for bubblewrap or,
without it, limits only.
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

PRIVATE = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108  # these are replaced in the sandbox, not used
HOME = Path("/tmp/home")  # noqa: S108  # inside the sandbox, where /tmp is the child's own
SECRETS = """
    .ssh .aws .azure .gnupg .kube .docker .netrc .git-credentials .npmrc .pypirc .password-store
    .vault-token
    .cargo/credentials .cargo/credentials.toml .config/gh .config/gcloud .config/hub .config/op
    .config/git/credentials
    .claude .claude.json .codex .gemini .qwen .copilot .config/github-copilot .local/share/opencode
    .local/share/keyrings .mozilla
"""
_PROBE = (
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-pid",
    "--unshare-net",
    "--die-with-parent",
    "--",
    "true",
)
_LIMITED = 'ulimit -c 0; {limits}exec "$@"'


class Rlimits(Struct, frozen=True, omit_defaults=True):
    """Ceilings for each process, in bytes and counts; 0 leaves the system's own."""

    memory: int = 0
    processes: int = 0
    file_size: int = 8 << 30


class Walls(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a child may see: the file system read-only with a /tmp of its own, plus what is named
    here.

    `binds` are (source, target, writable), laid in order; `writable` are folders it may write to
    where they are; `hidden` is empty inside, but for binds that lie in it.
    """

    writable: tuple[Path, ...] = ()
    binds: tuple[tuple[Path, Path, bool], ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = False
    rlimits: Rlimits = Rlimits()


def secrets(home: Path) -> tuple[Path, ...]:
    """Where a person's keys and tokens usually lie."""
    return tuple(home / name for name in SECRETS.split())


@cache
def bubblewrap() -> str:
    """The path of a bubblewrap that works here, or an empty string; asked once."""
    found = shutil.which("bwrap")
    return found if found and _succeeds([found, *_PROBE]) else ""


def available() -> str:
    return "bubblewrap" if bubblewrap() else "none"


def walled(command: Sequence[str], walls: Walls, *, cwd: Path) -> list[str]:
    """The command line that runs `command` in `cwd` behind the walls; only the limits hold where
    there is no bubblewrap.
    """
    program = bubblewrap()
    inner = [*_limited(walls.rlimits), *command]
    return [program, *_arguments(walls, cwd), "--", *inner] if program else inner


def _limited(rlimits: Rlimits) -> list[str]:
    """A constant script that lowers the limits and becomes the command; the only way that costs no
    second interpreter.
    """
    kilobytes = {"v": rlimits.memory >> 10, "f": rlimits.file_size >> 9, "u": rlimits.processes}
    # dash calls the number of processes -p; a shell that knows neither leaves the limit alone.
    forms = {
        "v": "ulimit -v {0}; ",
        "f": "ulimit -f {0}; ",
        "u": "ulimit -u {0} 2>/dev/null || ulimit -p {0} 2>/dev/null; ",
    }
    limits = "".join(forms[flag].format(value) for flag, value in kilobytes.items() if value)
    return ["/bin/sh", "-c", _LIMITED.format(limits=limits), "sh"]


def _arguments(walls: Walls, cwd: Path) -> Iterator[str]:
    yield from (
        "--die-with-parent",
        "--unshare-pid",
        "--unshare-ipc",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
    )
    if not walls.network:
        yield "--unshare-net"
    for folder in PRIVATE:
        if folder.is_dir():
            yield from ("--tmpfs", str(folder))
    yield from ("--dir", str(HOME))
    shown = [(path, path, True) for path in walls.writable] + list(walls.binds)
    yield from _hidden(walls.hidden)
    for source, target, writable in shown:
        yield from ("--bind" if writable else "--ro-bind", str(source), str(target))
    # A bind that lies in a hidden folder is meant to be seen; a hidden path that lies in a bind is
    # not.
    yield from _hidden(
        [path for path in walls.hidden if any(target in path.parents for _, target, _ in shown)]
    )
    yield from ("--chdir", str(cwd))


def _hidden(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        if path.is_dir():
            yield from ("--tmpfs", str(path.resolve()))
        elif path.exists():
            yield from ("--ro-bind", "/dev/null", str(path.resolve()))


def _succeeds(command: list[str]) -> bool:
    """Runs a probe without the process door, which stands on this module; it takes a few
    milliseconds, once.
    """
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        pid = os.posix_spawn(
            command[0], command, {"PATH": os.defpath}, file_actions=quiet, setpgroup=0
        )
    except OSError:
        return False
    succeeded = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with suppress(ChildProcessError):
        while True:  # what the probe leaves behind may have become ours to bury
            os.waitpid(-pid, 0)
    return succeeded
