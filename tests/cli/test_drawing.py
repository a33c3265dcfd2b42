"""Text, tables and indents: what is drawn fits, loses nothing that it need not, and looks the same everywhere."""

import re
from io import StringIO
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from punchlist.cli.board import Board
from punchlist.cli.drawing import ENDLESS, Column, Indent, Table, Text, draw_lines, measure

WORDS = st.lists(st.text("abc-/é日…", min_size=1, max_size=30), max_size=12).map(" ".join)
WIDTHS = st.integers(4, 90)


def drawn(part, width):
    return list(draw_lines([part], width))


@pytest.mark.parametrize(
    ("text", "columns"), [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("naïve…", 6)]
)
def test_columns_are_counted_as_a_terminal_does(text, columns):
    assert measure(text) == columns


def test_a_stretch_without_style_is_plain_in_a_text_that_has_one():
    text = Text("dim ", "dim").append("plain ", "none").append("red", "none red")
    assert list(draw_lines([text], 20, colours=True)) == [
        "\x1b[2mdim \x1b[0mplain \x1b[31mred\x1b[0m"
    ]
    assert drawn(text, 20) == ["dim plain red"]


@given(WORDS, WIDTHS)
@example("a " + "b" * 20 + " c", 8)
def test_a_text_is_broken_between_words_and_loses_none(text, width):
    lines = drawn(text, width)
    assert all(measure(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())
    whole = [word for word in text.split() if measure(word) <= width]
    assert all(any(word in line for line in lines) for word in whole)


@given(WORDS, st.integers(4, 40))
def test_what_is_not_to_be_wrapped_ends_in_an_ellipsis_where_it_does_not_fit(text, width):
    (line,) = drawn(Text.assemble((text, "bold"), overflow="ellipsis", no_wrap=True), width)
    assert measure(line) <= width
    if measure(text) <= width:
        assert line == text
    else:
        assert text.startswith(line.removesuffix("…"))
        assert measure(line) >= width - 1


@given(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=4), st.integers(24, 90))
def test_a_table_keeps_its_columns_below_each_other_and_every_letter(rows, width):
    table = Table(
        *(Column(heading=name, overflow="fold") for name in ("One", "Two", "Three")), gap=2
    )
    for row in rows:
        table.add_row(*row)
    lines = drawn(table, width)
    assert all(measure(line) <= width for line in lines)
    letters = "OneTwoThree" + "".join("".join(row) for row in rows)
    assert sorted("".join("".join(lines).split())) == sorted("".join(letters.split()))


def test_the_widest_column_that_may_be_wrapped_gives_way_first():
    table = Table(Column(no_wrap=True), Column(overflow="fold"), gap=1)
    table.add_row("    punchlist show 7", "item 7 in full, with its history")
    assert [line.rstrip() for line in drawn(table, 38)] == [
        "    punchlist show 7 item 7 in full,",
        "                     with its history",
    ]


def test_numbers_end_below_each_other_and_a_column_may_have_a_least_width():
    table = Table(Column(style="bold", least=7), Column(right=True), Column(), gap=2)
    table.add_row("Fixed", "7", "with a proof")
    table.add_row("Left", "1,200", "")
    assert [line.rstrip() for line in drawn(table, 80)] == [
        "Fixed        7  with a proof",
        "Left     1,200",
    ]


def test_an_indent_stays_where_a_text_is_wrapped():
    assert drawn(Indent(Text("one two three"), 4, above=1), 12) == ["", "    one two", "    three"]


def test_colours_are_written_only_where_they_are_wanted_and_end_with_their_text():
    text = Text("path", "cyan").append("\n+ added", "green")
    assert drawn(text, 80) == ["path", "+ added"]
    assert list(draw_lines([text], 80, colours=True)) == [
        "\x1b[36mpath\x1b[0m",
        "\x1b[36;32m+ added\x1b[0m",
    ]


@given(st.text("ab\t \a\r\n", max_size=30))
def test_tabs_become_spaces_and_what_moves_the_cursor_is_left_out(text):
    lines = drawn(Text(text, no_wrap=True), ENDLESS)
    assert not re.search("[\t\a\r\n]", "".join(lines))
    assert lines == text.replace("\a", "").replace("\r", "").expandtabs(8).split("\n")


def test_a_board_stands_below_what_is_printed_and_is_gone_at_the_end():
    rows, terminal = ["one", "two"], StringIO()
    with Board(terminal, lambda: rows) as board:
        with board.make_room():
            terminal.write("said\n")
        rows[:] = ["three"]
        board.draw()
    assert _play(terminal.getvalue()) == ["said"]
    shown = terminal.getvalue()
    assert _play(shown[: shown.rindex("three") + 5]) == ["said", "three"]
    assert shown.startswith("\x1b[?25l")
    assert shown.endswith("\x1b[?25h"), "the cursor is shown again"


def _play(written):
    """Return the lines that a terminal shows after this was written to it."""
    lines, at = [""], 0
    for part in re.findall(r"\x1b\[[?\d]*[a-zA-Z]|[\r\n]|[^\x1b\r\n]+", written):
        match part:
            case "\r":
                pass
            case "\n":
                at += 1
                lines += [""] if at == len(lines) else []
            case "\x1b[2K":
                lines[at] = ""
            case "\x1b[1A":
                at -= 1
            case _ if part[0] != "\x1b":
                lines[at] += part
    return [line for line in lines if line]


def test_a_letter_that_is_put_together_counts_like_the_whole_one():
    assert measure(normalize("NFD", "é")) == measure("é") == 1
