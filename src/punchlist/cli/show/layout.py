"""Text shapes that keep their indent on a narrow terminal."""

from typing import TYPE_CHECKING

from punchlist.cli.show.words import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def render_heading(text: str) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(one_line(text), "bold"), (1, 0, 0, 2))


def indent_text(text: str, style: str = "") -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(one_line(text), style, overflow="fold"), (0, 0, 0, 4))


def render_note(title: str, text: str) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text.assemble((f"{title}: ", "bold"), one_line(text)), (0, 0, 0, 2))


def render_bullets(*lines: str) -> "Table":
    from rich.text import Text

    table = make_grid()
    for line in lines:
        table.add_row("    -", Text(one_line(line)))
    return table


def render_commands(known: dict[str, str]) -> "Table":
    """Render commands, never broken, with their reasons."""
    from rich.table import Table

    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="cyan", no_wrap=True, overflow="ignore")
    table.add_column(style="dim")
    for command, why in known.items():
        table.add_row(f"    {command}", one_line(why))
    return table


def render_next(command: str, why: str) -> "RenderableType":
    """Render the one command to type next, with its reason."""
    from rich.text import Text

    return Text.assemble(("Next: ", "bold"), (command, "cyan"), (f"   {one_line(why)}", "dim"))


def make_table(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def make_grid() -> "Table":
    """Make a table of an unbroken column and a text column."""
    from rich.table import Table

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table
