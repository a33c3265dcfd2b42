"""The runs one may look at, newest first, with how each stands."""

import asyncio
import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer, Static

from punchlist.tui.backend import Station
from punchlist.tui.text import MUTED, fitted, line
from punchlist.tui.virtual_list import Rows
from punchlist.views.escaping import visible
from punchlist.views.run_line import RunLine
from punchlist.views.words import ago, duration

_POLL = 2.0


class RunsScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "look", "Look at it")]

    class Picked(Message):
        def __init__(self, run: str) -> None:
            super().__init__()
            self.run = run

    def __init__(self, station: Station, last: str = "") -> None:
        super().__init__()
        self._station = station
        self._last = last
        self._lines: list[RunLine] = []

    def compose(self) -> ComposeResult:
        yield Static(line(("Runs", "bold"), ("  Enter looks at one", MUTED)), id="head")
        yield Rows(
            self._row, empty="No run is recorded here yet. `punchlist run` starts one.", id="runs"
        )
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Rows).focus()
        self.run_worker(self._follow(), exclusive=True)

    def on_rows_chosen(self, chosen: Rows.Chosen) -> None:
        self.post_message(self.Picked(self._lines[chosen.key].id))

    async def _follow(self) -> None:
        while True:
            self._lines = await asyncio.to_thread(self._station.runs)
            rows = self.query_one(Rows)
            rows.put(range(len(self._lines)))
            if self._last:
                known = [each.id for each in self._lines]
                rows.action_move(known.index(self._last) if self._last in known else 0)
                self._last = ""
            await asyncio.sleep(_POLL)

    def _row(self, key: int, width: int) -> Content:
        """Of a long path the end stays: it has the repository's name."""
        row = self._lines[key]
        name, stands = f"{row.id:<15} ", f"{row.result:<22} "
        times = f"{ago(time.time() - row.started_at):<12} {duration(row.seconds):>11}  "
        rest = max(1, width - len(name) - len(stands) - len(times))
        where = fitted(visible(row.repository.removesuffix("/.git")), rest, tail=True)
        return line((name, "bold"), stands, (times, MUTED), where)
