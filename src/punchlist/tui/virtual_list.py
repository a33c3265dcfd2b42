"""A list of any length that draws only the rows on the screen."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from punchlist.tui.text import MUTED, line

Draw = Callable[[int, int], Content]
"""A row by its key, in so many columns."""
_MARK = "> "
_PLAIN = "  "


class Rows(ScrollView, can_focus=True):
    """Rows are identified by keys; the cursor stays on its key when others change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "move(-1000000000)", show=False),
        Binding("end,G", "move(1000000000)", show=False),
        Binding("enter", "choose", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor"}
    cursor: var[int] = var(0)

    class Moved(Message):
        """The cursor is on another row; `key` is None if there is none."""

        def __init__(self, rows: "Rows", key: int | None) -> None:
            super().__init__()
            self.rows = rows
            self.key = key

    class Chosen(Message):
        def __init__(self, rows: "Rows", key: int) -> None:
            super().__init__()
            self.rows = rows
            self.key = key

    def __init__(
        self,
        draw: Draw,
        *,
        empty: str = "Nothing.",
        newest_first: bool = False,
        id: str | None = None,  # noqa: A002  # the word of every widget
    ) -> None:
        super().__init__(id=id)
        self._draw = draw
        self._empty = empty
        self._newest_first = newest_first
        self.keys: Sequence[int] = ()

    @property
    def key(self) -> int | None:
        return self.keys[self.cursor] if self.cursor < len(self.keys) else None

    def set_rows(self, keys: Sequence[int], empty: str = "") -> None:
        """Show these rows. With `newest_first`, a cursor at the top stays at the top."""
        before, top = self.key, self._newest_first and self.cursor == 0
        self.keys = keys
        self._empty = empty or self._empty
        self.virtual_size = Size(0, max(1, len(keys)))
        self.cursor = 0 if top else self._find_index(before)
        self._show_cursor()
        if self.key != before:
            self.post_message(self.Moved(self, self.key))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        index = self.scroll_offset.y + y
        here = index == self.cursor and self.has_focus
        style = self.get_visual_style("rows--cursor") if here else self.visual_style
        if index >= len(self.keys):
            content = line((f"{_PLAIN}{self._empty}", MUTED)) if index == 0 else line("")
        else:
            mark = _MARK if index == self.cursor else _PLAIN
            row = self._draw(self.keys[index], width - len(mark))
            # Colours are not readable on the cursor's own.
            content = line(mark, row.plain) if here else line(mark) + row
        shown = content.truncate(width, ellipsis=True, pad=True)
        return Visual.to_strips(self, shown, width, 1, style, apply_selection=False)[0]

    def action_move(self, by: int) -> None:
        self._move_to(self.cursor + by)

    def action_page(self, by: int) -> None:
        self._move_to(self.cursor + by * max(1, self.scrollable_content_region.height - 1))

    def action_choose(self) -> None:
        if self.key is not None:
            self.post_message(self.Chosen(self, self.key))

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y
        if index < len(self.keys):
            again = index == self.cursor
            self._move_to(index)
            if again:
                self.action_choose()

    def on_focus(self) -> None:
        self.refresh()

    on_blur = on_focus

    def on_resize(self) -> None:
        self._show_cursor()

    def _move_to(self, index: int) -> None:
        before = self.cursor
        self.cursor = self._clamp(index)
        if self.cursor != before:
            self._show_cursor()
            self.refresh()
            self.post_message(self.Moved(self, self.key))

    def _find_index(self, key: int | None) -> int:
        if key is None:
            return 0
        try:
            return self.keys.index(key)
        except ValueError:
            return self._clamp(self.cursor)

    def _clamp(self, index: int) -> int:
        return min(max(0, index), max(0, len(self.keys) - 1))

    def _show_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, force=True, x_axis=False)
