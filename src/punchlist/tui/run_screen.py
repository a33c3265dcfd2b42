"""One run: items, running actions, log and checks, refreshed from the ledger."""

import asyncio
import time
from contextlib import suppress
from typing import ClassVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer, Input, Static

from punchlist.app.drive.background import AgentOutput
from punchlist.errors import PunchlistError
from punchlist.tui import actions as acts
from punchlist.tui.backend import Backend, Snapshot
from punchlist.tui.board import ALL, SEVERITY_CHOICES, ItemBoard, item_row, next_shelf, shelf_bar
from punchlist.tui.dialogs import DetailDialog
from punchlist.tui.item_screen import ItemScreen
from punchlist.tui.item_text import item_lines
from punchlist.tui.run_text import (
    moment_page,
    moment_row,
    render_activity,
    render_banner,
    render_checks,
    render_head,
)
from punchlist.tui.scroll_page import TextPage
from punchlist.tui.text import MUTED, line, page
from punchlist.tui.virtual_list import Rows
from punchlist.views.item_list import ItemFilter
from punchlist.views.run_state import State

VIEWS = ("items", "running", "log", "checks")
_POLL = 0.2
"""Seconds between two polls of the ledger."""
_KEPT = 400


class RunScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "view('items')", show=False),
        Binding("2", "view('running')", show=False),
        Binding("3", "view('log')", show=False),
        Binding("4", "view('checks')", show=False),
        Binding("tab", "turn(1)", "Views", priority=True),
        Binding("shift+tab", "turn(-1)", show=False, priority=True),
        Binding("left,h", "shelf(-1)", show=False),
        Binding("right,l", "shelf(1)", "Status", key_display="←→"),
        Binding("slash", "filter", "Filter"),
        Binding("s", "severity", "Severity"),
        Binding("a", "answer", "Answer"),
        Binding("r", "resume", show=False),
        Binding("c", "stop", show=False),
        Binding("d", "dismiss_item", show=False),
        Binding("u", "restore_item", show=False),
        Binding("D", "dismiss_items", show=False),
        Binding("A", "apply", "Apply"),
        Binding("X", "discard", show=False),
        Binding("escape", "back", show=False),
    ]

    class Left(Message):
        """The user wants the list of runs."""

    def __init__(self, backend: Backend, run: str) -> None:
        super().__init__()
        self.run = run
        self.look: Snapshot | None = None
        self._backend = backend
        self._board = ItemBoard()
        self._shelf = ALL
        self._wanted = ItemFilter()
        self._talk: list[AgentOutput] = []
        self._asked = 0

    def compose(self) -> ComposeResult:
        yield Static(line(("reading the ledger ...", MUTED)), id="head")
        yield Static(id="banner")
        yield Static(id="views")
        with ContentSwitcher(initial="items"):
            with Vertical(id="items"):
                yield Static(id="shelves")
                yield Input(
                    placeholder="text in title, path or code; Enter keeps it, Escape clears it",
                    id="filter",
                )
                with Horizontal():
                    yield Rows(self._item_row, empty="No items here.", id="list")
                    yield TextPage(id="preview")
            yield TextPage(id="running")
            yield Rows(self._moment_row, empty="Nothing happened yet.", newest_first=True, id="log")
            yield TextPage(id="checks")
        yield Footer()

    @property
    def _rows(self) -> Rows:
        return self.query_one("#list", Rows)

    def on_mount(self) -> None:
        self.query_one("#filter", Input).display = False
        self.query_one("#banner").display = False
        self._rows.focus()
        self.run_worker(self._follow_run(), exclusive=True, group="follow")
        self.set_interval(1, self._tick)

    async def _follow_run(self) -> None:
        with suppress(NoMatches):  # the window closes, and parts of it are gone already
            await self._poll_ledger()

    async def _poll_ledger(self) -> None:
        """Show what is new in the ledger every 200 ms, whichever process writes it."""
        last, backend = 0, self._backend
        while True:
            try:
                look = await asyncio.to_thread(backend.take_snapshot, self.run, self.look)
                self._show_snapshot(look)
            except PunchlistError as error:
                self._show_trouble(f"{error} ({error.hint})" if error.hint else str(error))
            if output := backend.driving.talk.list_after(self.run, last):
                last = output[-1].number
                self._talk = [*self._talk, *output][-_KEPT:]
                self._tick()
            await asyncio.sleep(_POLL)

    def _show_snapshot(self, look: Snapshot) -> None:
        before, self.look = self.look, look
        if before is not None and before.face == look.face:
            return
        if before is None or before.run.seq != look.run.seq:
            self._show_items()
            self.query_one("#log", Rows).set_rows(range(len(look.run.timeline) - 1, -1, -1))
            self.query_one("#checks", TextPage).set_lines(render_checks(look.run, look))
            if isinstance(top := self.app.screen, ItemScreen):
                top.show_run(look)
        if look.run.waits and not look.run.ended and self._asked != look.run.seq:
            self._asked = look.run.seq
            self.app.bell()
        self._show_bars()
        self._tick()

    def _show_trouble(self, text: str) -> None:
        if self.look is not None:
            self.look = replace(self.look, trouble=text)
            self._show_bars()
        else:
            self.query_one("#head", Static).update(line(text))

    def _tick(self) -> None:
        """Show what changes with the clock alone."""
        look = self.look
        if look is None:
            return
        self.query_one("#head", Static).update(page(render_head(look, time.time())))
        if self.query_one(ContentSwitcher).current == "running":
            running = self.query_one("#running", TextPage)
            running.set_lines(render_activity(look, self._talk), follow=True)

    def _show_bars(self) -> None:
        look = self.look
        if look is None:
            return
        text = render_banner(look)
        banner = self.query_one("#banner", Static)
        banner.display = text is not None
        banner.set_class(look.run.waits or bool(look.trouble), "-asks")
        if text is not None:
            banner.update(text)
        self.query_one("#views", Static).update(self._format_views(look))
        self.query_one("#shelves", Static).update(self._format_shelves(look))

    def _format_views(self, look: Snapshot) -> Content:
        busy, gaps = len(look.begun), len(look.summary.gaps)
        if not busy and look.state is State.UNDER_WAY:
            busy = len(look.due) + look.more_due
        counts = {
            "items": f" {look.tally[ALL.name]:,}",
            "running": f" {busy:,}" if busy else "",
            "checks": f" !{gaps}" if gaps else "",
        }
        current = self.query_one(ContentSwitcher).current
        parts = []
        for number, name in enumerate(VIEWS, 1):
            text = f"{number} {name}{counts.get(name, '')}"
            parts.append((f"[{text}]", "bold reverse") if name == current else (f" {text} ", ""))
        return line(*parts)

    def _format_shelves(self, look: Snapshot) -> Content:
        wanted = self._wanted
        asked = [f'"{wanted.text}"'] if wanted.text else []
        asked += [f"only {severity}" for severity in wanted.severity]
        shown = f" {' '.join(asked)}: {len(self._rows.keys):,} shown" if asked else ""
        bar = shelf_bar(look.tally, self._shelf, self.size.width - 2 - len(shown))
        return bar + line((shown, "bold"))

    def _show_items(self) -> None:
        if self.look is None:
            return
        keys = self._board.select_items(self.look.run, self._shelf, self._wanted)
        filtered = self._wanted != ItemFilter()
        unlike = "No item is like that; Escape clears the filter."
        self._rows.set_rows(keys, unlike if filtered else "No items here.")
        self._show_preview()
        self._show_bars()

    def _show_preview(self) -> None:
        look, number = self.look, self._rows.key
        if look is not None and self.has_class("-wide"):
            lines = item_lines(look.run, look.run.items[number]) if number else []
            self.query_one("#preview", TextPage).set_lines(lines)

    def _item_row(self, key: int, width: int) -> Content:
        items = self.look.run.items if self.look else {}
        if key not in items:
            return line("")
        return item_row(items[key], width, status=self._shelf.status is None)

    def _moment_row(self, key: int, width: int) -> Content:
        return moment_row(self.look.run.timeline[key], width) if self.look else line("")

    def on_rows_moved(self, moved: Rows.Moved) -> None:
        if moved.rows.id == "list":
            self.query_one("#preview", TextPage).scroll_home(animate=False)
            self._show_preview()

    def on_rows_chosen(self, chosen: Rows.Chosen) -> None:
        look, key = self.look, chosen.key
        if look is not None and chosen.rows.id == "log":
            self.app.push_screen(DetailDialog(moment_page(look.run.timeline[key])))
        elif look is not None:
            screen = ItemScreen(self._backend, look, chosen.rows.keys, key)
            self.app.push_screen(screen, self._select_item)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_preview)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._wanted = replace(self._wanted, text=event.value.strip())
        self._show_items()

    def on_input_submitted(self) -> None:
        self._rows.focus()

    def action_view(self, name: str) -> None:
        self.query_one(ContentSwitcher).current = name
        self.query_one("#list" if name == "items" else f"#{name}").focus()
        self._show_bars()
        self._tick()

    def action_turn(self, by: int) -> None:
        current = self.query_one(ContentSwitcher).current or VIEWS[0]
        self.action_view(VIEWS[(VIEWS.index(current) + by) % len(VIEWS)])

    def action_shelf(self, by: int) -> None:
        if self.look is not None:
            self._shelf = next_shelf(self._shelf, by, self.look.tally)
            self.action_view("items")
            self._show_items()

    def action_filter(self) -> None:
        self.action_view("items")
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()

    def action_severity(self) -> None:
        at = SEVERITY_CHOICES.index(self._wanted.severity)
        next_ = SEVERITY_CHOICES[(at + 1) % len(SEVERITY_CHOICES)]
        self._wanted = replace(self._wanted, severity=next_)
        self.action_view("items")
        self._show_items()

    def action_back(self) -> None:
        """Clear the filter; without a filter go to the list of runs."""
        box = self.query_one("#filter", Input)
        if self._wanted != ItemFilter() or box.display:
            self._wanted = ItemFilter()
            box.value = ""
            box.display = False
            self._rows.focus()
            self._show_items()
        else:
            self.post_message(self.Left())

    def action_answer(self) -> None:
        self._act_on_run(acts.answer_run)

    def action_resume(self) -> None:
        self._act_on_run(acts.resume_run)

    def action_stop(self) -> None:
        self._act_on_run(acts.stop_run)

    def action_apply(self) -> None:
        self._act_on_run(acts.apply_run)

    def action_discard(self) -> None:
        self._act_on_run(acts.discard_run)

    def action_dismiss_items(self) -> None:
        if self.look is not None:
            items = [self.look.run.items[number] for number in self._rows.keys]
            work = acts.dismiss_items(self, self._backend, self.look, items)
            self.run_worker(work, exclusive=True, group="act")

    def action_dismiss_item(self) -> None:
        self._act_on_item(acts.dismiss_item)

    def action_restore_item(self) -> None:
        self._act_on_item(acts.restore_item)

    def _act_on_run(self, act: acts.OfRun) -> None:
        if self.look is not None:
            self.run_worker(act(self, self._backend, self.look), exclusive=True, group="act")

    def _act_on_item(self, act: acts.OfItem) -> None:
        number = self._rows.key
        if self.look is not None and number is not None:
            work = act(self, self._backend, self.look, self.look.run.items[number])
            self.run_worker(work, exclusive=True, group="act")

    def _select_item(self, number: int | None) -> None:
        rows = self._rows
        if number is not None and number in rows.keys:
            rows.action_move(rows.keys.index(number) - rows.cursor)
