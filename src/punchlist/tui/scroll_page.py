"""A page of text that scrolls."""

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from punchlist.tui.text import page


class TextPage(VerticalScroll, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", show=False),
        Binding("j", "scroll_down", show=False),
        Binding("space", "page_down", show=False),
        Binding("g", "scroll_home", show=False),
        Binding("G", "scroll_end", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Static()

    def set_lines(self, lines: Iterable[Content], *, follow: bool = False) -> None:
        """Show these lines; with `follow`, stay at the end if the user is there."""
        at_end = self.scroll_offset.y >= self.max_scroll_y
        self.query_one(Static).update(page(lines))
        if follow and at_end:
            self.scroll_end(animate=False)
