"""Words and numbers as people read them, whatever the repository under review puts into them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.cli.show.words import escape_text, one_line, shorten_path
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.words import format_age, format_duration


@given(st.text(st.characters()))
def test_no_text_can_steer_the_terminal(text):
    shown = escape_text(text)
    assert not {
        character for character in shown if unicodedata.category(character) in ("Cc", "Cs")
    } - {"\n", "\t"}
    shown.encode()


@given(st.text(st.characters()))
def test_one_line_is_one_line(text):
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(st.characters(categories=["L", "N", "P", "Zs"], max_codepoint=0x2000)))
def test_ordinary_text_stays_as_it_is(text):
    assert escape_text(text) == text


def test_an_odd_byte_shows_itself():
    assert escape_text(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\xe9"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0 ms"), (0.84, "840 ms"), (3.14, "3.1 s"), (65, "1 min 05 s"), (7389, "2 h 03 min")],
)
def test_a_duration_is_short(seconds, shown):
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(5, "just now"), (60, "1 min ago"), (7200, "2 h ago"), (200_000, "2 d ago")],
)
def test_how_long_ago_is_rough(seconds, shown):
    assert format_age(seconds) == shown


def test_one_is_not_several():
    assert (pluralize(1, "item"), pluralize(0, "item"), pluralize(1200, "item")) == (
        "1 item",
        "0 items",
        "1,200 items",
    )


def test_a_path_elsewhere_stays_as_it_is(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    assert (shorten_path("/home/ada/shop/report.html"), shorten_path("/srv/report.html")) == (
        "~/shop/report.html",
        "/srv/report.html",
    )
