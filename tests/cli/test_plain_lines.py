"""Lines that are written as they are, and those that are drawn."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from punchlist.cli.drawing import Text
from punchlist.cli.terminal import note, say


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("a" * 300 + " b")
@example("tab\tbell\a and more  ")
@example("[bold]no markup[/] :smile: \u2028 two lines\nin one")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_line_is_written_as_a_text_of_one_line_is(capsys, text):
    say(text)
    note(text)
    plain = capsys.readouterr()
    say(Text(text, no_wrap=True))
    note(Text(text))
    assert plain == capsys.readouterr()


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_what_is_taken_for_a_terminal_has_colours(cart, punchlist, variable):
    assert "\x1b[" not in punchlist("review", "--all").stdout
    assert "\x1b[" in punchlist("review", "--all", **{variable: "1"}).stdout
