"""Open and close the app for one command. Ctrl-C stops it cleanly, a second one at once."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from getpass import getuser
from pathlib import Path
from typing import NoReturn, TypeVar

from punchlist.app import Session
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
    """Opens the session in the current folder and does the work with it."""

    async def opened() -> T:
        session = await Session.open(
            current_folder(), flags, repository=repository, readonly=readonly
        )
        with closing(session):
            return await work(session)

    return asyncio.run(opened())


def current_folder() -> Path:
    """Return the current folder. Raise UsageError if it is gone."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the folder you are in is gone", hint="cd to a repository, or use punchlist -C FOLDER"
        ) from error


def login_name() -> str:
    """Return the user's login name."""
    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "a person"


def run_reader(look: Callable[[Session], T], *, repository: bool = True) -> T:
    """Run a session that only reads."""

    async def run_look(session: Session) -> T:
        return look(session)

    return run_session(run_look, repository=repository, readonly=True)


@contextmanager
def handle_signals(say: Callable[[str], None]) -> Iterator[None]:
    """Cancel the current task on the first signal, so that the run records the stop; exit at the
    second.

    That is safe: the ledger is always whole, and the guardian ends orphaned children.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    asked: list[int] = []

    def handle_signal(number: int) -> None:
        if asked:
            _exit_now(number)
        asked.append(number)
        say("stopping; once more to stop at once")
        if task is not None:
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, handle_signal, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            if asked:  # what is left to do is short, but must not end in silence either
                signal.signal(number, lambda number, _: _exit_now(number))


def _exit_now(number: int) -> NoReturn:
    stderr_console().show_cursor()
    os.write(2, b"\nstopped at once; `punchlist resume` goes on\n")
    os._exit(128 + number)
