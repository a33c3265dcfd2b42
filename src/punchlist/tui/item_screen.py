"""One item on the whole screen, with keys for the next and previous one."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from punchlist.tui import actions as acts
from punchlist.tui.backend import Backend, Snapshot
from punchlist.tui.item_text import item_lines
from punchlist.tui.scroll_page import TextPage


class ItemScreen(Screen[int]):
    """Returns the number of the item it showed last."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace,enter", "close", "Back"),
        Binding("n,right", "step(1)", "Next"),
        Binding("p,left", "step(-1)", "Previous"),
        Binding("d", "dismiss_item", "Dismiss"),
        Binding("u", "restore_item", show=False),
    ]

    def __init__(
        self, backend: Backend, look: Snapshot, numbers: Sequence[int], number: int
    ) -> None:
        super().__init__()
        self._backend = backend
        self._look = look
        self._numbers = numbers
        self.number = number

    def compose(self) -> ComposeResult:
        yield TextPage(id="item")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(TextPage).focus()
        self._show_item()

    def show_run(self, look: Snapshot) -> None:
        """Show the same item again if it changed in the new snapshot."""
        before, now = self._look.run, look.run
        self._look = look
        if (
            before.items.get(self.number) is not now.items.get(self.number)
            or before.by_item.scores is not now.by_item.scores
            or before.asking.doubts is not now.asking.doubts
        ):
            self._show_item()

    def action_close(self) -> None:
        self.dismiss(self.number)

    def action_step(self, by: int) -> None:
        numbers = self._numbers
        if self.number in numbers:
            self.number = numbers[(numbers.index(self.number) + by) % len(numbers)]
            self.query_one(TextPage).scroll_home(animate=False)
            self._show_item()

    def action_dismiss_item(self) -> None:
        self._act_on_item(acts.dismiss_item)

    def action_restore_item(self) -> None:
        self._act_on_item(acts.restore_item)

    def _act_on_item(self, act: acts.OfItem) -> None:
        run = self._look.run
        self.run_worker(act(self, self._backend, self._look, run.items[self.number]))

    def _show_item(self) -> None:
        run = self._look.run
        self.query_one(TextPage).set_lines(item_lines(run, run.items[self.number]))
