"""The list of runs, newest first, with the state of each."""

import asyncio
import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static

from punchlist.tui.backend import Backend
from punchlist.tui.text import MUTED, fit_text, line
from punchlist.tui.virtual_list import Rows
from punchlist.views.escaping import escape_controls
from punchlist.views.run_line import RunLine
from punchlist.views.words import format_age, format_duration

_POLL = 2.0


class RunsScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "look", "Look at it")]

    class Picked(Message):
        def __init__(self, run: str) -> None:
            super().__init__()
            self.run = run

    def __init__(self, backend: Backend, last: str = "") -> None:
        super().__init__()
        self._backend = backend
        self._last = last
        self._lines: list[RunLine] = []

    def compose(self) -> ComposeResult:
        yield Static(line(("Runs", "bold"), ("  Enter looks at one", MUTED)), id="head")
        none = "No run is recorded here yet. `punchlist run` starts one."
        yield Rows(self._run_row, empty=none, id="runs")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Rows).focus()
        self.run_worker(self._poll_runs(), exclusive=True)

    def on_rows_chosen(self, chosen: Rows.Chosen) -> None:
        self.post_message(self.Picked(self._lines[chosen.key].id))

    async def _poll_runs(self) -> None:
        while True:
            self._lines = await asyncio.to_thread(self._backend.list_runs)
            rows = self.query_one(Rows)
            rows.set_rows(range(len(self._lines)))
            if self._last:
                known = [each.id for each in self._lines]
                rows.action_move(known.index(self._last) if self._last in known else 0)
                self._last = ""
            await asyncio.sleep(_POLL)

    def _run_row(self, key: int, width: int) -> Content:
        row = self._lines[key]
        name, result = f"{row.id:<15} ", f"{row.result:<22} "
        age = format_age(time.time() - row.started_at)
        times = f"{age:<12} {format_duration(row.seconds):>11}  "
        rest = max(1, width - len(name) - len(result) - len(times))
        where = fit_text(escape_controls(row.repository.removesuffix("/.git")), rest, tail=True)
        return line((name, "bold"), result, (times, MUTED), where)
