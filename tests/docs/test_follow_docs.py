"""The tool that follows the documentation notices what differs, and writes what was printed in its place."""

from pathlib import Path

import pytest
from follow_docs import (
    Difference,
    File,
    Step,
    choose_lines,
    is_printed,
    parse_page,
    write_differences,
)

PRINTED = "one\n\ntwo\nthree\nfour\nfive\n"


@pytest.mark.parametrize(
    "shown",
    [
        ("one", "two", "three", "four", "five"),
        ("...", "two", "three", "..."),
        ("one", "...", "five"),
        ("...", "two", "...", "four", "five"),
        ("...",),
        ("one", "...", "two", "three", "four", "five"),
    ],
)
def test_lines_with_gaps_are_found(shown: tuple[str, ...]):
    assert is_printed(shown, PRINTED)


@pytest.mark.parametrize(
    "shown",
    [
        (),
        ("one", "two", "three", "four"),
        ("two", "three", "..."),
        ("...", "two", "four", "..."),
        ("...", "four", "...", "two", "..."),
        ("one", "...", "four"),
        ("...", "five", "...", "five"),
        ("one", "two", "...", "two", "three", "four", "five"),
        ("...", "Two", "..."),
    ],
)
def test_lines_that_are_missing_added_or_in_another_order_are_noticed(shown: tuple[str, ...]):
    assert not is_printed(shown, PRINTED)


def test_what_differs_in_each_run_is_not_compared_and_everything_else_is():
    shown = "Run 261115-3479b8 · proven · 18.2 s · unresolved"
    assert is_printed((shown,), "Run 261116-db355e · proven · 1 min 27 s · unresolved")
    assert not is_printed((shown,), "Run 261116-db355e · proven · 18.2 s · fixed")
    assert not is_printed(("9 of 18 items",), "8 of 18 items")


def test_what_is_written_is_what_was_printed_with_the_same_gaps():
    shown = ("...", "Run 261115-3479b8: 59 entries", "  fixed   8 items", "...", "gone for good")
    printed = "a\nRun 261116-aaaaaa: 60 entries\n  fixed   9 items\nb\nc\n"
    lines = choose_lines(shown, printed)
    assert lines == ["...", "Run 261115-3479b8: 59 entries", "  fixed   9 items", "..."]
    assert is_printed(lines, printed)


def test_paths_of_this_machine_are_not_written():
    printed = (
        "allowed: /opt/pythons/3.13.1/bin/python3 -m unittest\n"
        "kept in /tmp/punchlist-docs-a1b2/home/.local/state and /tmp/punchlist-docs-a1b2/here/shop\n"
    )
    assert choose_lines(("allowed: python3 -m unittest", "kept in ~/.local/state"), printed) == [
        "allowed: /usr/bin/python3 -m unittest",
        "kept in ~/.local/state and /home/ada/shop",
    ]


def test_a_command_that_is_typed_twice_is_written_where_it_differs(tmp_path: Path):
    page = tmp_path / "page.md"
    block = "```console\n$ show\na red hen\n$ fix\n$ show\na red hen\n```\n"
    page.write_text(f"# Page\n\n{block}\n`a/b.txt`:\n\n```text\nhello\n```\n")
    first, fix, second, saved = parse_page(page.read_text())
    assert [first[:2], fix[:2]] == [("show", ("a red hen",)), ("fix", ())]
    assert saved == File("a/b.txt", "hello\n")
    assert isinstance(first, Step)
    assert isinstance(second, Step)
    write_differences([Difference(page, second, "a green hen\n")])
    assert page.read_text().startswith(
        "# Page\n\n```console\n$ show\na red hen\n$ fix\n$ show\na green hen\n```\n"
    )
