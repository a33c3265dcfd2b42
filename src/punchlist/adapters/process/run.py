"""Run child processes: explicit environment, a deadline, no process left.

When a child ends, times out or is cancelled, on Linux all its descendants are killed, also those
in other sessions; elsewhere its process group and tree. If punchlist itself is killed with -9, a
guardian process kills its children and the kernel kills everything in a sandbox.
"""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.folders.look import is_folder
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.process.bounded_output import BoundedOutput
from punchlist.adapters.process.descendants import MARK, ProcessFamily
from punchlist.adapters.process.programs import (
    Origin,
    is_foreign,
    list_outer_folders,
    list_path_folders,
    which,
)
from punchlist.adapters.sandbox.launch import PreparedCommand, prepare_command
from punchlist.adapters.sandbox.quotas import INTERVAL, QuotaWatch
from punchlist.adapters.sandbox.sandbox import Sandbox

__all__ = [
    "ChildInput",
    "Origin",
    "OutputWatch",
    "ProcessResult",
    "base_environment",
    "named_environment",
    "run",
    "which",
]
_ALLOWED = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT"}
)
_TERM_GRACE = 0.3
_NO_END = float("inf")
_PIPE_GRACE = 1.0
T = TypeVar("T")
_NOT_FOUND = 127
LATE, SILENT, MISSING, SIGNALLED = "timed out", "silent", "command not found", "ended by signal"
STOPPED = "stopped"
EXCESSIVE = "used too much"
REFUSED = "not started"
"""The first words of troubles that callers tell apart."""
_SIGNAL_BASE = 128


class ProcessResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a child. `trouble` says why its exit code and output do not count."""

    command: tuple[str, ...]
    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    seconds: float = 0
    trouble: str = ""
    cut: bool = False
    """Some of the output is missing; a line in it says how much."""

    @property
    def silent(self) -> bool:
        """It was ended because it wrote nothing for too long."""
        return self.trouble.startswith(SILENT)

    @property
    def late(self) -> bool:
        """It was ended at its deadline."""
        return self.trouble.startswith(LATE)

    @property
    def stopped(self) -> bool:
        """It was ended because `OutputWatch.hear` asked for it."""
        return self.trouble.startswith(STOPPED)

    @property
    def signalled(self) -> bool:
        return self.trouble.startswith(SIGNALLED)

    @property
    def missing(self) -> bool:
        return self.trouble.startswith(MISSING)

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.trouble


class OutputWatch(Struct, frozen=True, kw_only=True):
    """How to follow a long-running child's output."""

    hear: Callable[[bytes], str] | None = None
    """Called with standard output as it comes, in pieces of any size; must be fast and not fail. It
    returns why the child must be stopped, or ''.
    """
    silence: float = 0
    """Seconds it may write nothing to either stream; 0 for ever."""
    grace: float = _TERM_GRACE
    """Seconds between SIGTERM and SIGKILL."""
    speak: "Callable[[ChildInput], None] | None" = None
    """Called with the child's standard input, which then stays open."""


def base_environment(*, home: bool = False) -> dict[str, str]:
    """Return the allow-listed, secret-free part of our environment."""
    kept = {
        name: os.environ[name] for name in os.environ if name in _ALLOWED or name.startswith("LC_")
    }
    kept["PATH"] = list_path_folders()
    if home and "HOME" in os.environ:
        kept["HOME"] = os.environ["HOME"]
    return kept


def named_environment(names: Iterable[str]) -> dict[str, str]:
    """Return the named variables of our environment that are set."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


async def run(  # noqa: PLR0913  # all that describes one child
    command: Sequence[str],
    *,
    origin: Origin,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,  # noqa: ASYNC109  # it ends the child in time
    stdin: bytes = b"",
    limit: int = 64 << 20,
    walls: Sandbox | None = None,
    trim: bool = False,
    watch: OutputWatch | None = None,
    pass_fds: Sequence[int] = (),
) -> ProcessResult:
    """Run a command to its end; failures, timeouts and a missing program are values.

    A program of a repository is not started without walls, whatever `origin` says it is. Where the
    machine has none to give, that is trouble, too, unless the user consented (`Sandbox.consented`).
    Output over `limit` bytes per stream loses its middle, which is trouble unless `trim`. The
    child inherits the descriptors in `pass_fds` under their numbers; the caller closes its own.
    """
    watch = watch or OutputWatch()
    family = ProcessFamily(secrets.token_hex(8))
    environment = {**(base_environment() if env is None else env), MARK: family.mark}
    if walls is None:
        environment["PATH"] = list_outer_folders(environment.get("PATH"))
    with closing(BoundedOutput(limit)) as stdout, closing(BoundedOutput(limit)) as stderr:
        child = _Child({1: stdout, 2: stderr}, family, watch.hear, whole=not trim)
        started, scratch = time.monotonic(), None
        try:
            with _prepare(command, origin, walls, cwd=cwd, env=environment) as prepared:
                scratch = prepared.scratch
                quotas = QuotaWatch(walls, scratch) if walls else None
                ready = replace(prepared, descriptors=(*prepared.descriptors, *pass_fds))
                trouble = await _start_child(
                    child, ready, env=environment, stdin=stdin, watch=watch
                )
            trouble = trouble or await _wait_for_end(child, family, timeout, watch, quotas)
            family.kill_all()
            await child.wait_drained()
        finally:
            family.kill_all()
            await child.wait_and_close()
            family.release_root()
            if scratch:
                remove_folder(scratch)
        trouble = trouble or child.find_trouble(limit, trim=trim)
        if walls:
            trouble = trouble or _sandbox_trouble(child, command[0])
        return ProcessResult(
            command=tuple(command),
            exit_code=child.exit_code,
            stdout=stdout.value(),
            stderr=stderr.value(),
            seconds=time.monotonic() - started,
            trouble="" if child.dismissed else trouble,
            cut=child.cut,
        )


@contextmanager
def _prepare(
    command: Sequence[str],
    origin: Origin,
    walls: Sandbox | None,
    *,
    cwd: Path,
    env: Mapping[str, str],
) -> Iterator[PreparedCommand]:
    """Prepare the command, or say why it is not started: it is a repository's, without walls."""
    own = origin is Origin.OURS and command[0] == sys.executable  # it is running already
    theirs = origin is Origin.THEIRS or (not own and _is_foreign_program(command[0], cwd, env))
    if walls is None and theirs:
        why = f"{command[0]} is a program of the repository, and has no sandbox"
        yield PreparedCommand(list(command), cwd, refused=why)
        return
    with prepare_command(command, walls, cwd=cwd, env=env, theirs=theirs) as prepared:
        yield prepared


def _is_foreign_program(name: str, cwd: Path, env: Mapping[str, str]) -> bool:
    """Return whether a program is a repository's; a bare name is looked for on PATH."""
    if "\0" in name:
        return False
    found = cwd / name if "/" in name else shutil.which(name, path=env.get("PATH", os.defpath))
    return found is not None and is_foreign(found)


class _Child(asyncio.SubprocessProtocol):
    """Collects a child's output and notices its exit, even if a descendant keeps the pipes open."""

    def __init__(
        self,
        streams: dict[int, BoundedOutput],
        family: ProcessFamily,
        hear: Callable[[bytes], str] | None,
        *,
        whole: bool,
    ) -> None:
        self._family = family
        self._hear = hear
        self._whole = whole
        """Whether output that loses its middle is of no use: then it has to end."""
        self._spoke = time.monotonic()
        self.streams = streams
        self.exited = asyncio.Event()
        self.over = asyncio.Event()
        """It has exited, or must be stopped."""
        self.stop_reason = ""
        self._open = {1, 2}
        self._drained = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self.exit_code: int | None = None
        self.dismissed = False
        self._signal = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101  # asyncio's promise
        self._transport = transport
        self._family.register_root(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.streams[fd].write(data)
        self._spoke = time.monotonic()
        if self._whole and self.streams[fd].cut:
            self.over.set()
        if fd == 1 and self._hear and (reason := self._hear(data)):
            self.stop_reason = self.stop_reason or reason
            self.over.set()

    def dismiss(self, grace: float) -> None:
        """Let the finished child exit, then terminate, then kill it; no trouble is reported."""
        self.dismissed = True
        loop = asyncio.get_running_loop()
        loop.call_later(_TERM_GRACE, self._unless_exited, self._family.terminate)
        loop.call_later(_TERM_GRACE + grace, self._unless_exited, self._family.kill_all)

    def _unless_exited(self, end: Callable[[], None]) -> None:
        if not self.exited.is_set():
            end()

    def silence_deadline(self, silence: float) -> float:
        """Return when it will have been silent for `silence` seconds; inf for 0."""
        return self._spoke + silence if silence else _NO_END

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self._drained.set()

    def process_exited(self) -> None:
        code = self._transport.get_returncode() if self._transport else None
        if code is not None and code < 0:
            self._signal = -code
        else:
            self.exit_code = code
        self.exited.set()
        self.over.set()

    async def wait_drained(self) -> None:
        """Wait until all output is read, for at most a second."""
        if self._transport:
            await _wait_event(_PIPE_GRACE, self._drained)

    async def wait_and_close(self) -> None:
        """Wait until the event loop has read the exit status, then close the transport."""
        if self._transport:
            try:
                await _wait_event(_PIPE_GRACE, self.exited)
            finally:
                self._transport.close()

    @property
    def cut(self) -> bool:
        return any(stream.cut for stream in self.streams.values())

    def find_trouble(self, limit: int, *, trim: bool) -> str:
        if self.cut and not trim:
            return f"output over {limit} bytes"
        return f"{SIGNALLED} {self._signal}" if self._signal else ""


class ChildInput:
    """A child's standard input, open while it runs."""

    def __init__(self, pipe: asyncio.WriteTransport, child: _Child, grace: float) -> None:
        self._pipe = pipe
        self._child = child
        self._grace = grace

    def send(self, data: bytes) -> None:
        if not self._pipe.is_closing():
            self._pipe.write(data)

    def close_input(self) -> None:
        """Close the input and end the child."""
        self._pipe.close()
        self._child.dismiss(self._grace)


async def _start_child(
    child: _Child,
    prepared: PreparedCommand,
    *,
    env: Mapping[str, str],
    stdin: bytes,
    watch: OutputWatch,
) -> str:
    """Start the child; return why it could not be started, or ''."""
    if prepared.refused:
        return f"{REFUSED}, {prepared.refused}"
    loop = asyncio.get_running_loop()
    source = subprocess.PIPE if stdin or watch.speak else subprocess.DEVNULL
    try:
        starting = loop.subprocess_exec(
            lambda: child,
            *prepared.line,
            stdin=source,
            cwd=prepared.folder,
            env=dict(env),
            start_new_session=True,
            pass_fds=prepared.descriptors,
        )
        transport, _ = await _shield_start(starting)
    except (OSError, ValueError) as error:
        return _start_trouble(error, prepared.line[0], prepared.folder)
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        if watch.speak:
            watch.speak(ChildInput(pipe, child, watch.grace))
        else:
            pipe.close()
    return ""


async def _shield_start(starting: Coroutine[object, object, T]) -> T:
    """Delay a cancel until the child is started; asyncio hangs if cancelled half-way."""
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def _wait_for_end(
    child: _Child,
    family: ProcessFamily,
    seconds: float,
    watch: OutputWatch,
    quotas: QuotaWatch | None,
) -> str:
    """Wait for the child's end, or terminate one that is late or silent, that has said too much or
    that uses too much; return the trouble.
    """
    deadline, excess = time.monotonic() + seconds, ""
    while (left := min(deadline, child.silence_deadline(watch.silence)) - time.monotonic()) > 0:
        if await _wait_event(min(left, INTERVAL) if quotas else left, child.over):
            break
        excess = await quotas.find_excess(family.list_descendants()) if quotas else ""
        if excess:
            family.kill_all()
            return f"{EXCESSIVE}: {excess}"
    if child.exited.is_set():
        excess = await quotas.find_left() if quotas else ""
        return f"{EXCESSIVE}: {excess}" if excess else ""
    family.terminate()
    late = time.monotonic() >= deadline
    await _wait_event(watch.grace, child.exited)
    if child.stop_reason:
        return f"{STOPPED}: {child.stop_reason}"
    if child.cut and not late:
        return ""
    return f"{LATE} after {seconds:g} s" if late else f"{SILENT} for {watch.silence:g} s"


async def _wait_event(seconds: float, event: asyncio.Event) -> bool:
    """Return whether the event comes in time. `wait_for` can lose a cancel up to Python 3.11."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _start_trouble(error: OSError | ValueError, name: str, cwd: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{MISSING}: {name}" if is_folder(cwd) else f"no such folder to run in: {cwd}"
    return f"cannot run {name}: {error.strerror if isinstance(error, OSError) else error}"


def _sandbox_trouble(child: _Child, name: str) -> str:
    """Return why the sandbox could not start the command, or ''; a child may fake it."""
    code = child.exit_code or 0
    errors = child.streams[2].value().decode(errors="replace")
    if code == _NOT_FOUND and name in errors and "not found" in errors:
        return f"{MISSING}: {name}"
    if code == 1 and errors.startswith(("bwrap: ", "landlock: ")):
        return f"the sandbox could not be set up: {errors.splitlines()[0]}"
    if _SIGNAL_BASE < code <= _SIGNAL_BASE + signal.NSIG:
        return f"{SIGNALLED} {code - _SIGNAL_BASE}"
    return ""
