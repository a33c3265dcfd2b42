"""A line is found again after a change."""

from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Spot
from punchlist.model.patch.moved_lines import follow_line, follow_spot, parse_moves
from punchlist.model.patch.parse_diff import parse_hunks

OLD = [f"line {number}" for number in range(1, 11)]


def hunks(old: list[str], new: list[str]):
    return tuple(parse_hunks(list(unified_diff(old, new, lineterm="", n=0))[2:]))


@given(st.lists(st.integers(0, 9), unique=True), st.lists(st.integers(0, 9), max_size=5))
def test_a_line_that_stays_has_the_number_it_has_now(gone, added):
    new = [line for at, line in enumerate(OLD) if at not in gone]
    for at in added:
        new.insert(at, "new")
    for number, line in enumerate(OLD, 1):
        if line in new:
            assert new[follow_line(number, hunks(OLD, new)) - 1] == line


@pytest.mark.parametrize(
    ("new", "line", "now"),
    [
        ([*OLD[:3], "other", *OLD[4:]], 4, 4),
        ([*OLD[:3], "a", "b", "c", *OLD[4:]], 4, 4),
        ([*OLD[:3], "a", *OLD[6:]], 6, 4),
        (OLD[4:], 2, 1),
        ([], 5, 1),
    ],
)
def test_of_a_line_that_is_gone_there_is_what_took_its_place(new, line, now):
    assert follow_line(line, hunks(OLD, new)) == now


def test_a_place_follows_its_file_to_another_name():
    renamed = "diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n"
    changed = "diff --git a/c.py b/c.py\n--- a/c.py\n+++ b/c.py\n@@ -1,0 +2 @@\n+x\n"
    moved = parse_moves(renamed + changed)
    assert follow_spot(Spot("a.py", 3, 4, 1, 2), moved) == Spot("b.py", 3, 4, 1, 2)
    assert follow_spot(Spot("c.py", 2, 3, 1, 2), moved) == Spot("c.py", 3, 4)
    assert follow_spot(Spot("c.py"), moved) == Spot("c.py")
    assert follow_spot(Spot("d.py", 3), moved) == Spot("d.py", 3)
