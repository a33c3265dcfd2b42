"""Lines that are written without rich are those that it would write."""

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.text import Text

from punchlist.cli.terminal import note, reset_consoles, say


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("a" * 300 + " b")
@example("tab\tbell\a and more  ")
@example("[bold]no markup[/] :smile: \u2028 two lines\nin one")
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_line_is_written_as_rich_writes_it(capsys, text):
    reset_consoles()
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
