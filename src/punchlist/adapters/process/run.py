"""The one door to child processes: an explicit environment, an end in time, and nothing left
behind.

What holds where, when a child ends, is timed out or is cancelled: on Linux every descendant dies,
also one that left its session, because orphans are re-parented to us; elsewhere its process group
and the tree below it. When punchlist itself is killed with -9, its children, what lies below them
and what bears their mark are killed by a small guardian, and everything in a sandbox by the kernel.
"""

import asyncio
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from punchlist.adapters.process.bounded_output import Output
from punchlist.adapters.process.descendants import MARK, Family
from punchlist.adapters.process.sandbox import Walls, available, walled

_ALLOWED = frozenset(
    {"PATH", "LANG", "LANGUAGE", "TZ", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT"}
)
_TERM_GRACE = 0.3
_NO_END = float("inf")
_PIPE_GRACE = 1.0
T = TypeVar("T")
_NOT_FOUND = 127
LATE, SILENT, MISSING, SIGNALLED = "timed out", "silent", "command not found", "ended by signal"
"""How trouble begins that callers tell apart."""
_SIGNAL_BASE = 128


class Ran(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a child. `trouble` says why its exit code and output are not an answer."""

    command: tuple[str, ...]
    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float
    trouble: str = ""
    cut: bool = False
    """Some of the output is missing; a line in it says how much."""

    @property
    def silent(self) -> bool:
        """It was ended because it said nothing for too long."""
        return self.trouble.startswith(SILENT)

    @property
    def late(self) -> bool:
        """It was ended because its time was up."""
        return self.trouble.startswith(LATE)

    @property
    def signalled(self) -> bool:
        return self.trouble.startswith(SIGNALLED)

    @property
    def missing(self) -> bool:
        return self.trouble.startswith(MISSING)

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.trouble


class Watch(Struct, frozen=True, kw_only=True):
    """How a child that talks for long is listened to. Its time being up and its silence are told
    apart by `Ran.silent`.
    """

    hear: Callable[[bytes], None] | None = None
    """Is given the standard output as it comes, in pieces of any size; it must not fail, and must
    not take long.
    """
    silence: float = 0
    """Seconds it may write nothing to either stream; 0 for ever."""
    grace: float = _TERM_GRACE
    """Seconds between the polite signal and the end of everything."""
    speak: "Callable[[Voice], None] | None" = None
    """Is given the child's standard input, which then stays open, to answer what is heard."""


def base_environment(*, home: bool = False) -> dict[str, str]:
    """The allow-listed part of our own environment: where programs are and how text looks, and no
    secret.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _ALLOWED or name.startswith("LC_")
    }
    kept.setdefault("PATH", os.defpath)
    if home and "HOME" in os.environ:
        kept["HOME"] = os.environ["HOME"]
    return kept


def named_environment(names: Iterable[str]) -> dict[str, str]:
    """The variables of our own environment that a child is meant to have, where they are set."""
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def which(name: str) -> str | None:
    return shutil.which(name)


async def run(  # noqa: PLR0913  # one child is described in full where it is started
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 600,  # noqa: ASYNC109  # ending the child in time is the point of this function
    stdin: bytes = b"",
    limit: int = 64 << 20,
    walls: Walls | None = None,
    trim: bool = False,
    watch: Watch | None = None,
) -> Ran:
    """Runs a command to its end; a child that fails, hangs, crashes or is not there is a value,
    never an exception.

    Output beyond `limit` bytes a stream loses its middle; that is trouble unless `trim` says that
    both ends will do.
    """
    started = time.monotonic()
    family = Family(secrets.token_hex(8))
    watch = watch or Watch()
    child = _Child(limit, family, watch.hear)
    environment = {**(base_environment() if env is None else env), MARK: family.mark}
    line = walled(command, walls, cwd=cwd) if walls else list(command)
    # In the sandbox the folder may exist only behind the walls; bubblewrap goes there itself.
    where = Path("/") if walls and available() == "bubblewrap" else cwd
    try:
        trouble = await _started(child, line, cwd=where, env=environment, stdin=stdin, watch=watch)
        trouble = trouble or await _waited(child, family, timeout, watch)
        family.end()
        await child.drained()
    finally:
        family.end()
        await child.closed()
        family.reaped()
    return Ran(
        command=tuple(command),
        exit_code=child.exit_code,
        stdout=child.streams[1].value(),
        stderr=child.streams[2].value(),
        seconds=time.monotonic() - started,
        trouble=""
        if child.dismissed
        else trouble or child.trouble(limit, trim=trim) or _from_walls(child, command[0], walls),
        cut=child.cut,
    )


class _Child(asyncio.SubprocessProtocol):
    """Collects what a child writes and notices its end, also while a descendant keeps the pipes
    open.
    """

    def __init__(self, limit: int, family: Family, hear: Callable[[bytes], None] | None) -> None:
        self._family = family
        self._hear = hear
        self._spoke = time.monotonic()
        self.streams = {1: Output(limit), 2: Output(limit)}
        self.exited = asyncio.Event()
        self._open = {1, 2}
        self._drained = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self.exit_code: int | None = None
        self.dismissed = False
        self._signal = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)  # noqa: S101  # asyncio's own promise, told to the type checker
        self._transport = transport
        self._family.began(transport.get_pid())

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.streams[fd].write(data)
        self._spoke = time.monotonic()
        if fd == 1 and self._hear:
            self._hear(data)

    def dismiss(self, grace: float) -> None:
        """Its work is done: it may go by itself, then is asked to, then is ended; how it goes is no
        trouble any more.
        """
        self.dismissed = True
        loop = asyncio.get_running_loop()
        loop.call_later(_TERM_GRACE, lambda: None if self.exited.is_set() else self._family.term())
        loop.call_later(
            _TERM_GRACE + grace, lambda: None if self.exited.is_set() else self._family.end()
        )

    def quiet_until(self, silence: float) -> float:
        """When it will have said nothing for so long."""
        return self._spoke + silence if silence else _NO_END

    def pipe_connection_lost(
        self, fd: int, exc: Exception | None
    ) -> None:  # the signature is asyncio's
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

    async def drained(self) -> None:
        """All that was written has been read; a pipe that some stranger holds open is not waited
        for long.
        """
        if self._transport:
            await _within(_PIPE_GRACE, self._drained)

    async def closed(self) -> None:
        """The end was noticed before the transport closes, which would read the exit status behind
        the event loop's back.
        """
        if self._transport:
            try:
                await _within(_PIPE_GRACE, self.exited)
            finally:
                self._transport.close()

    @property
    def cut(self) -> bool:
        return any(stream.cut for stream in self.streams.values())

    def trouble(self, limit: int, *, trim: bool) -> str:
        if self._signal:
            return f"{SIGNALLED} {self._signal}"
        return f"output over {limit} bytes" if self.cut and not trim else ""


class Voice:
    """A child's standard input, for whoever answers it while it works."""

    def __init__(self, pipe: asyncio.WriteTransport, child: _Child, grace: float) -> None:
        self._pipe = pipe
        self._child = child
        self._grace = grace

    def say(self, data: bytes) -> None:
        if not self._pipe.is_closing():
            self._pipe.write(data)

    def hang_up(self) -> None:
        """Ends the conversation, and the child with it."""
        self._pipe.close()
        self._child.dismiss(self._grace)


async def _started(  # noqa: PLR0913  # the parts of one child, from the one place that starts it
    child: _Child,
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes,
    watch: Watch,
) -> str:
    """Starts the child; why it could not be, or an empty string."""
    loop = asyncio.get_running_loop()
    source = subprocess.PIPE if stdin or watch.speak else subprocess.DEVNULL
    try:
        transport, _ = await _whole(
            loop.subprocess_exec(
                lambda: child,
                *command,
                stdin=source,
                cwd=cwd,
                env=dict(env),
                start_new_session=True,
            )
        )
    except (OSError, ValueError) as error:
        return _why_not_started(error, command[0], cwd)
    pipe = transport.get_pipe_transport(0)
    if isinstance(pipe, asyncio.WriteTransport):
        pipe.write(stdin)
        if watch.speak:
            watch.speak(Voice(pipe, child, watch.grace))
        else:
            pipe.close()
    return ""


async def _whole(starting: Coroutine[object, object, T]) -> T:
    """A cancel waits until the child is there, and then ends it; asyncio waits for ever for one
    cancelled half-way.
    """
    task = asyncio.ensure_future(starting)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


async def _waited(child: _Child, family: Family, seconds: float, watch: Watch) -> str:
    """Waits for the child's end, and brings it about when time is up or nothing was heard for too
    long.
    """
    deadline = time.monotonic() + seconds
    while (left := min(deadline, child.quiet_until(watch.silence)) - time.monotonic()) > 0:
        if await _within(left, child.exited):
            return ""
    family.term()
    trouble = (
        f"{LATE} after {seconds:g} s"
        if time.monotonic() >= deadline
        else f"{SILENT} for {watch.silence:g} s"
    )
    await _within(watch.grace, child.exited)
    return trouble


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether it comes in time. Not with `wait_for`: up to Python 3.11 that forgets a cancel which
    comes with the event.
    """
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def _why_not_started(error: OSError | ValueError, name: str, cwd: Path) -> str:
    if isinstance(error, FileNotFoundError) and not cwd.is_dir():
        return f"no such folder to run in: {cwd}"
    if isinstance(error, FileNotFoundError):
        return f"{MISSING}: {name}"
    return f"cannot run {name}: {error.strerror if isinstance(error, OSError) else error}"


def _from_walls(child: _Child, name: str, walls: Walls | None) -> str:
    """What the wrapper around a command says when it could not start it; a child that says the same
    is not believed either.
    """
    if walls is None:
        return ""
    said = child.streams[2].value().decode(errors="replace")
    if child.exit_code == _NOT_FOUND and name in said and "not found" in said:
        return f"{MISSING}: {name}"
    if child.exit_code == 1 and said.startswith("bwrap: "):
        return f"the sandbox could not be set up: {said.splitlines()[0]}"
    if _SIGNAL_BASE < (child.exit_code or 0) <= _SIGNAL_BASE + signal.NSIG:
        return f"{SIGNALLED} {(child.exit_code or 0) - _SIGNAL_BASE}"
    return ""
