"""Open and close a session for one command. Ctrl-C stops it cleanly, a second one at once."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import wraps
from getpass import getuser
from pathlib import Path
from typing import NoReturn, TypeVar

from punchlist.app.session import Session
from punchlist.cli.board import show_cursor
from punchlist.errors import UsageError

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_BEAT = 0.2
_PATIENCE = 2.0
"""Seconds that a stopped command has to do its next step, and then to end."""
_GUARDS: "list[_StopGuard]" = []


def run_session(
    work: Callable[[Session], Awaitable[T]],
    flags: Mapping[str, str] | None = None,
    *,
    repository: bool | None = True,
    readonly: bool = False,
) -> T:
    """Open a session in the current folder, do the work with it, and close it."""

    async def open_and_work() -> T:
        folder = current_folder()
        session = await Session.open(folder, flags, repository=repository, readonly=readonly)
        with closing(session):
            return await work(session)

    try:
        return asyncio.run(open_and_work())
    finally:
        for guard in _GUARDS:
            guard.dismiss()
        _GUARDS.clear()


def with_session(
    *, repository: bool | None = True, readonly: bool = False
) -> Callable[[Callable[..., Awaitable[T]]], Callable[..., T]]:
    """Give a command a session in the current folder as its first argument."""

    def decorate(work: Callable[..., Awaitable[T]]) -> Callable[..., T]:
        @wraps(work)
        def run_work(**options: object) -> T:
            return run_session(
                lambda session: work(session, **options), repository=repository, readonly=readonly
            )

        return run_work

    return decorate


def current_folder() -> Path:
    """Return the current folder. Raise UsageError if it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the folder you are in is gone", hint="cd to a repository, or use punchlist -C FOLDER"
        ) from error


def login_name() -> str:
    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "a person"


@contextmanager
def handle_signals(say: Callable[[str], None]) -> Iterator[None]:
    """Cancel the current task on the first signal, so that the run records the stop; exit at the
    second, or if the task does not heed the first because something keeps its loop busy. That is
    safe: the ledger is always whole, and the guardian ends orphaned children.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    received: list[int] = []

    def stop_task() -> None:
        say("stopping; once more to stop at once")
        if task is not None:
            task.cancel()

    def handle_signal(number: int, _: object) -> None:
        # Not a handler of the loop: that would wait until the loop is free.
        if received:
            _exit_now(number)
        received.append(number)
        loop.call_soon_threadsafe(stop_task)
        guard = _StopGuard(loop, number)
        _GUARDS.append(guard)
        guard.start()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        signal.signal(number, handle_signal)
    try:
        yield
    finally:
        if received:  # until the command has ended, another signal still gets its message
            _GUARDS[-1].expect_end()
        else:
            for number, handler in before.items():
                signal.signal(number, handler)


class _StopGuard(threading.Thread):
    """Ends the process if a stopped command does not end by itself: its loop, or Python's end, may
    wait for work that heeds nothing.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, number: int) -> None:
        super().__init__(daemon=True)
        self._loop = loop
        self._number = number
        self._ending = threading.Event()
        self._dismissed = threading.Event()

    def run(self) -> None:
        while self._is_awake() and not self._ending.wait(_BEAT):
            pass
        if not self._dismissed.wait(_PATIENCE if self._ending.is_set() else 0):
            _exit_now(self._number)

    def _is_awake(self) -> bool:
        """Return whether the loop does something else within a few seconds."""
        seen = threading.Event()
        with suppress(RuntimeError):  # it is closed
            self._loop.call_soon_threadsafe(seen.set)
        return seen.wait(_PATIENCE) or self._ending.is_set() or self._dismissed.is_set()

    def expect_end(self) -> None:
        """From now on only the end of the process is waited for."""
        self._ending.set()

    def dismiss(self) -> None:
        """The command has ended."""
        self._dismissed.set()


def _exit_now(number: int) -> NoReturn:
    show_cursor(sys.stderr)
    os.write(2, b"\nstopped at once; `punchlist resume` goes on\n")
    os._exit(128 + number)
