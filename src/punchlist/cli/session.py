"""Open and close a session for one command. Ctrl-C stops it cleanly, a second one at once."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import wraps
from getpass import getuser
from pathlib import Path
from typing import NoReturn, TypeVar

from punchlist.app.session import Session
from punchlist.cli.terminal import stderr_console
from punchlist.errors import UsageError

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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

    return asyncio.run(open_and_work())


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
    second. That is safe: the ledger is always whole, and the guardian ends orphaned children.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    received: list[int] = []

    def handle_signal(number: int) -> None:
        if received:
            _exit_now(number)
        received.append(number)
        say("stopping; once more to stop at once")
        if task is not None:
            task.cancel()

    def remove_handler(number: int) -> None:
        loop.remove_signal_handler(number)
        if received:  # until the command has ended, another signal still gets its message
            signal.signal(number, lambda number, _: _exit_now(number))

    with ExitStack() as handlers:
        for number in _SIGNALS:
            loop.add_signal_handler(number, handle_signal, number)
            handlers.callback(remove_handler, number)
        yield


def _exit_now(number: int) -> NoReturn:
    stderr_console().show_cursor()
    os.write(2, b"\nstopped at once; `punchlist resume` goes on\n")
    os._exit(128 + number)
