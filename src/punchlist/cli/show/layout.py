"""Text shapes that keep their indent on a narrow terminal."""

from punchlist.cli.drawing import Column, Indent, Part, Table, Text
from punchlist.cli.show.words import one_line


def render_heading(text: str) -> Part:
    return Indent(Text(one_line(text), "bold"), 2, above=1)


def indent_text(text: str, style: str = "") -> Part:
    return Indent(Text(one_line(text), style), 4)


def render_note(title: str, text: str) -> Part:
    return Indent(Text.assemble((f"{title}: ", "bold"), one_line(text)), 2)


def render_bullets(*lines: str) -> Table:
    table = make_grid()
    for line in lines:
        table.add_row("    -", one_line(line))
    return table


def render_commands(known: dict[str, str]) -> Table:
    """Render commands, never broken, with their reasons."""
    command_column = Column(style="cyan", no_wrap=True, overflow="crop")
    table = Table(command_column, Column(style="dim"), gap=3)
    for command, why in known.items():
        table.add_row(f"    {command}", one_line(why))
    return table


def render_next(command: str, why: str) -> Part:
    """Render the one command to type next, with its reason."""
    return Text.assemble(("Next: ", "bold"), (command, "cyan"), (f"   {one_line(why)}", "dim"))


def make_table(*columns: str) -> Table:
    return Table(*(Column(heading=each, overflow="fold") for each in columns), gap=2)


def make_grid() -> Table:
    """Make a table of an unbroken column and a text column."""
    return Table(Column(no_wrap=True), Column(overflow="fold"), gap=1)
