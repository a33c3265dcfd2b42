"""Sandbox a child: a bubblewrap command line or, without bubblewrap, resource limits only."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

PRIVATE = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108  # replaced in the sandbox
HOME = Path("/tmp/home")  # noqa: S108  # inside the sandbox, where /tmp is the child's own
SECRETS = """
    .ssh .aws .azure .gnupg .kube .docker .netrc .git-credentials .npmrc .pypirc .password-store
    .vault-token
    .cargo/credentials .cargo/credentials.toml .config/gh .config/gcloud .config/hub .config/op
    .config/git/credentials
    .claude .claude.json .codex .gemini .qwen .copilot .config/github-copilot .local/share/opencode
    .local/share/keyrings .mozilla
"""
_ALWAYS = "--die-with-parent --unshare-pid --ro-bind / / --dev /dev --proc /proc".split()
_LIMITED = 'ulimit -c 0; {limits}exec "$@"'


class Rlimits(Struct, frozen=True, omit_defaults=True):
    """Limits per process, in bytes and counts; 0 keeps the system's."""

    memory: int = 0
    processes: int = 0
    file_size: int = 8 << 30


class Sandbox(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A child's view: the file system read-only, its own /tmp, and what is named here.

    `binds` are (source, target, writable), mounted in order; `writable` folders are
    mounted in place; `hidden` paths are empty, except for binds inside.
    """

    writable: tuple[Path, ...] = ()
    binds: tuple[tuple[Path, Path, bool], ...] = ()
    hidden: tuple[Path, ...] = ()
    network: bool = False
    rlimits: Rlimits = Rlimits()


def secret_paths(home: Path) -> tuple[Path, ...]:
    """Return the usual paths of keys and tokens."""
    return tuple(home / name for name in SECRETS.split())


@cache
def find_bubblewrap() -> str:
    """Return the path of a working bubblewrap, or ''; cached."""
    found = shutil.which("bwrap")
    return found if found and _succeeds([found, *_ALWAYS, "--unshare-net", "--", "true"]) else ""


def sandbox_kind() -> str:
    return "bubblewrap" if find_bubblewrap() else "none"


def wrap_command(command: Sequence[str], sandbox: Sandbox, *, cwd: Path) -> list[str]:
    """Return the command sandboxed in `cwd`; without bubblewrap only limits apply."""
    program = find_bubblewrap()
    inner = [*_limit_command(sandbox.rlimits), *command]
    return [program, *_bwrap_arguments(sandbox, cwd), "--", *inner] if program else inner


def _limit_command(rlimits: Rlimits) -> list[str]:
    """Return a shell prefix that sets the limits and execs the command."""
    # dash calls the number of processes -p; a shell that knows neither leaves the limit alone.
    forms = {
        "ulimit -v {0}; ": rlimits.memory >> 10,
        "ulimit -f {0}; ": rlimits.file_size >> 9,
        "ulimit -u {0} 2>/dev/null || ulimit -p {0} 2>/dev/null; ": rlimits.processes,
    }
    limits = "".join(form.format(value) for form, value in forms.items() if value)
    return ["/bin/sh", "-c", _LIMITED.format(limits=limits), "sh"]


def _bwrap_arguments(sandbox: Sandbox, cwd: Path) -> Iterator[str]:
    yield from (*_ALWAYS, "--unshare-ipc")
    if not sandbox.network:
        yield "--unshare-net"
    for folder in PRIVATE:
        if folder.is_dir():
            yield from ("--tmpfs", str(folder))
    yield from ("--dir", str(HOME))
    shown = [*((path, path, True) for path in sandbox.writable), *sandbox.binds]
    yield from _hide_paths(sandbox.hidden)
    for source, target, writable in shown:
        yield from ("--bind" if writable else "--ro-bind", str(source), str(target))
    # A bind inside a hidden folder stays visible; a hidden path inside a bind is hidden again.
    targets = {target for _, target, _ in shown}
    yield from _hide_paths([path for path in sandbox.hidden if targets & set(path.parents)])
    yield from ("--chdir", str(cwd))


def _hide_paths(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        if path.is_dir():
            yield from ("--tmpfs", str(path.resolve()))
        elif path.exists():
            yield from ("--ro-bind", "/dev/null", str(path.resolve()))


def _succeeds(command: list[str]) -> bool:
    """Run a probe command; not by `run`, which imports this module."""
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    env = {"PATH": os.defpath}
    try:
        pid = os.posix_spawn(command[0], command, env, file_actions=quiet, setpgroup=0)
    except OSError:
        return False
    succeeded = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with suppress(ChildProcessError):
        while True:  # reap what the probe left behind
            os.waitpid(-pid, 0)
    return succeeded
