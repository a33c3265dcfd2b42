"""Turn a command into one that runs in a sandbox."""

import os
import resource
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.sandbox.bubblewrap import Descriptors, build_arguments
from punchlist.adapters.sandbox.sandbox import Sandbox
from punchlist.adapters.sandbox.support import counts_processes, probe_support
from punchlist.ports.weaknesses import note_weaknesses

_REQUIRED = "a complete sandbox is required (sandbox.required)"
_UNFENCED = (
    "is a program of the repository, and this machine has no sandbox: install bubblewrap, or allow "
    "it with --set sandbox.unfenced=true"
)
_LIMITED = 'ulimit -c 0; {limits}exec "$@"'
_FORMS = {"-u": "ulimit -u {1} 2>/dev/null || ulimit -p {1} 2>/dev/null; "}
"""dash calls the number of processes -p; a shell that knows neither leaves the limit alone."""


class PreparedCommand(Struct, frozen=True):
    """What to execute, where, and with which descriptors."""

    line: list[str]
    folder: Path
    descriptors: tuple[int, ...] = ()
    refused: str = ""
    """Why it must not be started."""
    scratch: Path | None = None
    """A folder for its temporary files, to be removed when it has ended."""


@contextmanager
def prepare_command(
    command: Sequence[str],
    sandbox: Sandbox | None,
    *,
    cwd: Path,
    env: Mapping[str, str],
    theirs: bool = True,
) -> Iterator[PreparedCommand]:
    """Prepare the command for a sandbox in `cwd`; without bubblewrap as far as Landlock can.

    Where there is neither, only limits apply, and a program of the repository (`theirs`) is refused
    unless the user consented.
    """
    if sandbox is None:
        yield PreparedCommand(list(command), cwd)
        return
    support = probe_support()
    weaknesses = support.list_weaknesses(sandbox.kind)
    note_weaknesses(sandbox.kind, weaknesses)
    inner = [*_limit_command(sandbox), *command]
    if sandbox.required and not support.complete:
        lacks = "; ".join(weaknesses)
        yield PreparedCommand(inner, cwd, refused=f"{_REQUIRED}: {lacks}")
    elif support.landlock.abi:
        from punchlist.adapters.sandbox.landlock import plan

        with ExitStack() as stack:
            held, scratch = Descriptors(stack), plan.make_scratch()
            given = held.add(plan.encode_plan(sandbox, env, scratch, support.landlock))
            line = [*plan.launcher_line(), given, *inner]
            yield PreparedCommand(line, cwd, tuple(held.numbers), scratch=scratch)
    elif not support.program:
        refused = f"{command[0]} {_UNFENCED}" if theirs and not sandbox.consented else ""
        yield PreparedCommand(inner, cwd, refused=refused)
    else:
        with ExitStack() as stack:
            held = Descriptors(stack)
            options = build_arguments(sandbox, cwd, env, held, support.lacks)
            given = held.add(b"".join(os.fsencode(option) + b"\0" for option in options))
            line = [support.program, "--args", given, "--", *inner]
            # The folder may exist only in the sandbox; bubblewrap changes to it itself.
            yield PreparedCommand(line, Path("/"), tuple(held.numbers))


def _limit_command(sandbox: Sandbox) -> list[str]:
    """Return a shell prefix that sets the limits and executes the command."""
    quotas, own = sandbox.profile.quotas, sandbox.rlimits
    processes = quotas.processes if counts_processes() else 0
    wanted = {
        "-v": (resource.RLIMIT_AS, own.memory, 10),
        "-d": (resource.RLIMIT_DATA, quotas.heap, 10),
        "-f": (resource.RLIMIT_FSIZE, own.file_size or quotas.file_size, 9),
        "-n": (resource.RLIMIT_NOFILE, quotas.open_files, 0),
        "-u": (resource.RLIMIT_NPROC, processes, 0),
    }
    limits = ""
    for flag, (kind, value, shift) in wanted.items():
        hard = resource.getrlimit(kind)[1]
        if value and (hard == resource.RLIM_INFINITY or value < hard):
            limits += _FORMS.get(flag, "ulimit {0} {1}; ").format(flag, value >> shift)
    return ["/bin/sh", "-c", _LIMITED.format(limits=limits), "sh"]
