"""Which of the changed lines the checks execute is counted by statements, as the base had them."""

import pytest

from punchlist.model.checks.changed_lines import (
    LineCount,
    count_lines,
    find_changed_lines,
    translate_lines,
)
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import splices_between

TEXT = '''\
"""Doc."""

import os


@cached
def show(
    token,
):
    """Say it."""
    # a comment
    print(
        token,
    )
    if token:
        return os.path.join(
            token,
        )
    else:
        kind: str
    return None
'''
IMPORTED = (3, 6, 7)
CALLED = (*IMPORTED, 12, 13, 15, 21)


@pytest.mark.parametrize(
    ("changed", "executed", "count"),
    [
        ((3,), IMPORTED, (1, 1)),
        ((3,), (), (0, 1)),
        ((8,), IMPORTED, (1, 1)),
        ((12, 13, 14), IMPORTED, (0, 3)),
        ((14,), CALLED, (1, 1)),
        ((17,), CALLED, (0, 1)),
        ((15, 16), CALLED, (1, 2)),
        ((19,), CALLED, (1, 1)),
        ((1, 2, 4, 10, 11, 20), CALLED, (0, 0)),
    ],
    ids=["an import that ran", "an import that did not", "a signature", "a call that did not run", "the end of one that did",
         "a branch that did not", "partly", "else", "what cannot run"],
)  # fmt: skip
def test_a_changed_line_is_executed_if_its_statement_was(changed, executed, count):
    assert count_lines(TEXT, changed, executed) == LineCount(*count)


def test_what_does_not_parse_is_not_counted():
    assert count_lines("def f(:\n", {1}, {1}) == LineCount()


@pytest.mark.parametrize(
    ("splice", "lines"),
    [
        (Splice("a.py", 2, 4, ""), {2}),
        (Splice("a.py", 2, 3, "x"), {2}),
        (Splice("a.py", 2, 2, "new\n"), {2}),
        (Splice("a.py", 0, 6, ""), {1, 2, 3}),
    ],
    ids=["a line is deleted", "a word", "a line is put before it", "all"],
)
def test_the_lines_of_a_splice_are_those_it_takes_from(splice, lines):
    assert find_changed_lines("a\nb\nc\n", [splice]) == lines


def test_lines_keep_their_word_when_earlier_fixes_moved_or_rewrote_them():
    old, new = "a\nb\nc\nd\n", "a\nB1\nB2\nc\nd\n"
    assert translate_lines(old, new, {2, 4}) == {2, 3, 5}
    assert translate_lines(old, new, {1, 3}) == {1, 4}
    assert find_changed_lines(old, splices_between("a.py", old, new)) == {2}


@pytest.mark.parametrize(
    ("count", "words", "missing"),
    [
        (LineCount(), "", ""),
        (LineCount(2, 2), "executing 2 of its 2 changed lines", ""),
        (LineCount(0, 1), "executing none of its 1 changed line", "its changed line"),
        (LineCount(0, 3), "executing none of its 3 changed lines", "any of its 3 changed lines"),
        (LineCount(1, 3), "executing 1 of its 3 changed lines", "2 of its 3 changed lines"),
    ],
)
def test_the_share_is_said_in_words(count, words, missing):
    assert (count.words, count.missing) == (words, missing)
