"""Small shapes of text that keep their indent however narrow the terminal is."""

from typing import TYPE_CHECKING

from punchlist.cli.show.words import one_line

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


def heading(text: str) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(one_line(text), "bold"), (1, 0, 0, 2))


def indented(text: str, style: str = "") -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    return Padding(Text(one_line(text), style, overflow="fold"), (0, 0, 0, 4))


def bullets(*lines: str) -> "Table":
    table = grid()
    for line in lines:
        table.add_row("    -", plain(line))
    return table


def commands(known: dict[str, str]) -> "Table":
    """What to type, and why; the command is never broken."""
    from rich.table import Table

    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="cyan", no_wrap=True, overflow="ignore")
    table.add_column(style="dim")
    for command, why in known.items():
        table.add_row(f"    {command}", one_line(why))
    return table


def grid() -> "Table":
    """Two columns: what stands in front, unbroken, and text that hangs beside it."""
    from rich.table import Table

    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def plain(text: str) -> "Text":
    from rich.text import Text

    return Text(one_line(text))
