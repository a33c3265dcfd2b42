"""Dialogs: yes or no, a choice, a line of text, a long text, and the help."""

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from punchlist.tui.text import MUTED, block, line, page


class ConfirmDialog(ModalScreen[bool]):
    """Yes or no; Escape means no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes"),
        Binding("n,escape", "dismiss(False)", "No"),
    ]

    def __init__(self, question: str, why: str = "") -> None:
        super().__init__()
        self._question = question
        self._why = why

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(page([line((self._question, "bold")), *block(self._why)]))
            yield Static(line(("y", "bold"), " yes   ", ("n", "bold"), " no"), classes="keys")


class QuestionDialog(ModalScreen[str | None]):
    """Base of dialogs that ask the user; None means later. Long questions scroll."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Later"),
        Binding("pageup", "turn(-1)", "Page up", priority=True),
        Binding("pagedown", "turn(1)", "Page down", priority=True),
    ]

    def action_turn(self, by: int) -> None:
        words = self.query_one(".words", VerticalScroll)
        words.scroll_relative(y=by * max(1, words.size.height - 1), animate=False)


class ChoiceDialog(QuestionDialog):
    def __init__(self, question: str, choices: Mapping[str, str]) -> None:
        super().__init__()
        self._question = question
        self._choices = choices

    def compose(self) -> ComposeResult:
        choices = self._choices.items()
        with Vertical(classes="box"):
            with VerticalScroll(classes="words", can_focus=False):
                yield Static(page(block(self._question, style="bold")))
            yield OptionList(*(line((f"{letter}) ", "bold"), text) for letter, text in choices))
            yield _key_line("a letter, or ↑ ↓ and Enter: decide   Escape: later")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, chosen: OptionList.OptionSelected) -> None:
        self.dismiss(list(self._choices)[chosen.option_index])

    def on_key(self, event: Key) -> None:
        if event.character in self._choices:
            event.stop()
            self.dismiss(event.character)


class TextDialog(QuestionDialog):
    """Ask for a line of text; empty input is ignored."""

    def __init__(
        self, title: str, about: Sequence[str] = (), keys: str = "Enter: send   Escape: later"
    ) -> None:
        super().__init__()
        self._title = title
        self._about = about
        self._keys = keys

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            with VerticalScroll(classes="words", can_focus=False):
                about = [each for text in self._about for each in block(text)]
                yield Static(page([*block(self._title, style="bold"), *about]))
            yield Input()
            yield _key_line(self._keys)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if text := event.value.strip():
            self.dismiss(text)


class DetailDialog(ModalScreen[None]):
    """Shows a line in full that was cut."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "dismiss(None)", "Close")]

    def __init__(self, lines: Sequence[Content]) -> None:
        super().__init__()
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            with VerticalScroll(classes="whole"):
                yield Static(page(self._lines))
            yield _key_line("Escape closes this")

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


class HelpDialog(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,enter", "dismiss(None)", "Close")
    ]

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            lines = [line(("Keys", "bold underline"))]
            for row in _read_help().splitlines():
                name, keys, *more = row.split("\t")
                detail = f"   {more[0]}" if more else ""
                lines.append(line((f"{name:<8} ", "bold"), keys, (detail, MUTED)))
            yield Static(page(lines))
            yield _key_line("Escape closes this")


def _read_help() -> str:
    return (files("punchlist.tui") / "help.tsv").read_text("utf-8")


def _key_line(text: str) -> Static:
    return Static(line((text, MUTED)), classes="keys")
