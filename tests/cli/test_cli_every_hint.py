"""Every command that is printed as a next step can be typed where it is printed."""

import pytest
from printed_hints import MENTION, Told, collect, collect_files, find_fault, find_hints, split

WORDS = {"last", "show", "upgrade", "proven", "bash", "zsh", "fish", "run"}
"""Small words that are arguments; others are the rest of a sentence."""
NO_HINTS = (
    "is no result of punchlist ci",
    "</code> of punchlist run ",
    "<sub>item {} of punchlist run {}</sub>",
)


@pytest.mark.parametrize("told", [*collect(), *collect_files()], ids=str)
def test_a_command_in_a_text_can_be_told_from_the_text_and_there_is_one_like_it(told: Told):
    if any(each in told.text for each in NO_HINTS):
        return
    hints = find_hints(told.text)
    assert len(hints) == len(MENTION.findall(told.text)), "write it in backticks"
    assert [fault for fault in map(find_fault, hints) if fault] == []
    bare = [hint for hint in hints if f"`{hint}`" not in told.text and f">{hint}<" not in told.text]
    prose = {
        word for hint in bare for word in split(hint)[1][1:] if word.isalpha() and word.islower()
    }
    assert prose <= WORDS, "write it in backticks"
