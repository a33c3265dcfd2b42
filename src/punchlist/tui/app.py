"""The Textual app: screens, global keys, and a clean end of driven runs."""

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.worker import WorkerFailed

from punchlist.model.ledger.run import Run
from punchlist.tui.backend import Backend
from punchlist.tui.dialogs import ConfirmDialog, HelpDialog
from punchlist.tui.run_screen import RunScreen
from punchlist.tui.runs_screen import RunsScreen

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_DARK = "textual-dark"
_LIGHT = "textual-light"


class WatchApp(App[None]):
    TITLE = "punchlist"
    CSS_PATH = "watch.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (140, "-wide")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "help", "Help"),
        Binding("t", "light", show=False),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+c,ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(self, backend: Backend, run: str = "") -> None:
        super().__init__()
        self._backend = backend
        self.run_name = run
        """The run that the user looked at last."""
        self._leaving = False
        self.failure: BaseException | None = None

    def on_mount(self) -> None:
        self.theme = _DARK
        run, backend = self.run_name, self._backend
        self.push_screen(RunScreen(backend, run) if run else RunsScreen(backend))

    def on_runs_screen_picked(self, picked: RunsScreen.Picked) -> None:
        self.run_name = picked.run
        self.switch_screen(RunScreen(self._backend, picked.run))

    def on_run_screen_left(self) -> None:
        self.switch_screen(RunsScreen(self._backend, self.run_name))

    def action_help(self) -> None:
        self.push_screen(HelpDialog())

    def action_light(self) -> None:
        self.theme = _LIGHT if self.theme == _DARK else _DARK

    def action_leave(self) -> None:
        if not self._leaving:
            self._leaving = True
            self.run_worker(self._leave())

    async def _leave(self) -> None:
        driven = self._backend.driving.list_driven()
        resumes = "\n".join(f"`punchlist resume {run}` goes on" for run in driven)
        why = f"This window drives it; it stops between two events.\n{resumes}"
        dialog = ConfirmDialog("Stop the run, and leave?", why)
        if not driven or await self.push_screen_wait(dialog):
            await self._backend.stop_driving()
            self.exit()
        self._leaving = False

    def _handle_exception(self, error: Exception) -> None:
        """Keep the error and close the window; `watch` raises it again."""
        self.failure = self.failure or (error.error if isinstance(error, WorkerFailed) else error)
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()


async def watch(backend: Backend, run: str = "") -> tuple[Run, ...]:
    """Open the window until it is closed, then stop the runs driven here and return them."""
    window = WatchApp(backend, run)
    async with aclosing(backend):
        with _exit_on_signals(window), _silence_logs():
            await window.run_async()
        await backend.stop_driving()
        if window.failure is not None:
            raise window.failure
        return tuple(backend.load(name) for name in backend.drove)


@contextmanager
def _silence_logs() -> Iterator[None]:
    """Keep log lines from being written over the window; the banner shows errors."""
    log, silence = logging.getLogger("punchlist"), logging.NullHandler()
    log.addHandler(silence)
    try:
        yield
    finally:
        log.removeHandler(silence)


@contextmanager
def _exit_on_signals(window: WatchApp) -> Iterator[None]:
    """Close the window on SIGINT, SIGTERM and SIGHUP, without asking."""
    loop = asyncio.get_running_loop()
    with ExitStack() as handlers:
        for number in _SIGNALS:
            loop.add_signal_handler(number, window.exit)
            handlers.callback(loop.remove_signal_handler, number)
        yield
