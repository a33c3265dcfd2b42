"""Code is split into coloured parts, and never changed by it."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from punchlist.views.code.highlight import highlight_lines

PATHS = ("a.py", "a.ts", "a.sql", "Makefile", "a.unknown", "", "/", "a.", ".py")


def parts(path: str, *lines: str) -> list[list[tuple[str, str]]]:
    return [[(each.kind, each.text) for each in line] for line in highlight_lines(path, lines)]


@pytest.mark.parametrize(
    ("path", "line", "kinds"),
    [
        ("a.py", "return 'x' # no", {"k": "return", "s": "'x'", "c": "# no"}),
        ("a.py", "total_1 = 12.5", {"n": "12.5"}),
        ("a.py", 'x = "#no" + y', {"s": '"#no"'}),
        ("a.js", "const a = `x`; // no", {"k": "const", "s": "`x`", "c": "// no"}),
        ("a.js", "a /* b */ + 1", {"c": "/* b */", "n": "1"}),
        ("a.sql", "SELECT 1 -- no", {"k": "SELECT", "n": "1", "c": "-- no"}),
        ("a.py", 'say = "it', {}),
        ("a.txt", "return 'x'", {}),
    ],
)
def test_parts_of_a_line_have_their_kinds(path, line, kinds):
    (found,) = parts(path, line)
    assert {kind: text for kind, text in found if kind} == kinds


def test_blocks_go_on_over_lines_until_they_are_closed():
    found = parts("a.py", 'x = """one', "return", 'two""" + 1')
    assert found[0] == [("", "x = "), ("s", '"""one')]
    assert found[1] == [("s", "return")]
    assert found[2] == [("s", 'two"""'), ("", " + "), ("n", "1")]
    assert parts("a.c", "/* one", "", "*/ return")[2] == [("c", "*/"), ("", " "), ("k", "return")]


@given(path=st.sampled_from(PATHS), lines=st.lists(st.text(max_size=60), max_size=6))
@example(path="a.py", lines=['"""', "'''", "'\\", "#"])
def test_nothing_is_lost_or_added(path, lines):
    found = list(highlight_lines(path, lines))
    assert ["".join(each.text for each in line) for line in found] == lines


@pytest.mark.parametrize(
    "evil", ["'\\" * 500, '"' * 999, "`a" * 500, "/*" * 500, "x " * 500, "1." * 500]
)
def test_no_text_makes_it_slow(evil):
    began = time.process_time()
    list(highlight_lines("a.js", [evil] * 20))
    assert time.process_time() - began < 2
