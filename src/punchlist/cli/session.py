"""One command's session: opened, used, closed; Ctrl-C stops the work cleanly, a second
one at once.
"""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from getpass import getuser
from pathlib import Path
from typing import NoReturn, TypeVar

from punchlist.app import Session
from punchlist.cli.terminal import err
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
        session = await Session.open(here(), flags, repository=repository, readonly=readonly)
        with closing(session):
            return await work(session)

    return asyncio.run(opened())


def here() -> Path:
    """The folder the user stands in."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError(
            "the folder you are in is gone", hint="cd to a repository, or use punchlist -C FOLDER"
        ) from error


def login() -> str:
    """Return the user's login name."""
    try:
        return getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return "a person"


def reading(look: Callable[[Session], T], *, repository: bool = True) -> T:
    """A session of commands that only read."""

    async def looked(session: Session) -> T:
        return look(session)

    return run_session(looked, repository=repository, readonly=True)


@contextmanager
def stoppable(say: Callable[[str], None]) -> Iterator[None]:
    """The first signal cancels the present task, so that the run writes down that it was stopped;
    the second ends the process.

    Ending at once is safe: the ledger is always whole, and the guardian ends the children of a
    process that is gone.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    asked: list[int] = []

    def stop(number: int) -> None:
        if asked:
            _end_at_once(number)
        asked.append(number)
        say("stopping; once more to stop at once")
        if task is not None:
            task.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            if asked:  # what is left to do is short, but must not end in silence either
                signal.signal(number, lambda number, _: _end_at_once(number))


def _end_at_once(number: int) -> NoReturn:
    err().show_cursor()
    os.write(2, b"\nstopped at once; `punchlist resume` goes on\n")
    os._exit(128 + number)
