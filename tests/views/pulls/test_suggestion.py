"""A fix as a suggestion: exactly the lines of the head that it replaces, or none at all."""

from difflib import unified_diff

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.patch.parse_diff import parse_diff, parse_hunks
from punchlist.views.pulls.diff_table import parse_table
from punchlist.views.pulls.suggestion import (
    FixedFile,
    Suggestion,
    make_suggestion,
    render_suggestion,
)


def join(lines):
    return "".join(f"{line}\n" for line in lines)


def made(head, before, after):
    diff = unified_diff(before, head, "a/x", "b/x", n=0, lineterm="")
    moves = tuple(
        hunk for file in parse_diff("\n".join(diff) + "\n") for hunk in parse_hunks(file.body)
    )
    return make_suggestion(FixedFile("x", join(head), join(before), join(after), moves))


def apply_to(head, suggestion):
    lines = suggestion.text.split("\n") if suggestion.text else []
    return [*head[: suggestion.first - 1], *lines, *head[suggestion.last :]]


lines = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=12)


@given(lines, lines)
def test_a_suggestion_for_the_head_makes_what_the_fix_made(head, after):
    found = made(head, head, after)
    if found is not None:
        assert apply_to(head, found) == after


@given(lines, lines, lines)
def test_a_suggestion_replaces_the_lines_that_the_fix_replaced(head, before, after):
    found = made(head, before, after)
    if found is not None:
        assert head[found.first - 1 : found.last]
        same = next(
            (n for n, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
            None,
        )
        start = min(len(before), len(after)) if same is None else same
        replaced = head[found.first - 1 : found.last]
        shift = start if before[start : start + 1] == replaced[:1] else max(start - 1, 0)
        assert replaced == before[shift : shift + len(replaced)]


def test_a_fix_after_other_fixes_is_suggested_at_the_lines_of_the_head():
    head = ["import os", "x = 1", "", "", "y = None == z"]
    assert made(head, head[1:], [*head[1:4], "y = z is None"]) == Suggestion(
        "x", 5, 5, "y = z is None"
    )


def test_a_fix_of_lines_that_the_head_lacks_is_no_suggestion():
    assert (
        made(["one", "x", "end"], ["one", "changed before", "end"], ["one", "changed again", "end"])
        is None
    )


def test_lines_that_are_only_added_replace_the_one_above():
    assert made(["a", "b"], ["a", "b"], ["a", "new", "b"]) == Suggestion("x", 1, 1, "a\nnew")
    assert made(["a"], ["a"], ["new", "a"]) == Suggestion("x", 1, 1, "new\na")


def test_a_long_fix_and_one_of_the_last_line_end_are_no_suggestions():
    head = [str(n) for n in range(60)]
    assert made(head, head, [f"{n}!" for n in head]) is None
    assert make_suggestion(FixedFile("x", "a\nb", "a\nb", "a\nc\n")) is None


def test_code_with_fences_of_its_own_stays_in_its_block():
    text = render_suggestion(Suggestion("x", 1, 1, "```suggestion\nevil\n````"))
    assert text.startswith("`````suggestion\n")
    assert text.endswith("\n`````")


def test_the_table_has_the_lines_of_each_hunk_of_the_head():
    diff = (
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n--- a/old.py\n+++ b/new.py\n"
        "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -9,2 +10 @@\n-x\n y\n"
        "diff --git a/gone.py b/gone.py\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-z\n"
    )
    table = parse_table(diff)
    assert table.holds("new.py", 1, 3)
    assert table.holds("new.py", 10, 10)
    assert not table.holds("new.py", 3, 10)
    assert not table.holds("gone.py", 1, 1)
