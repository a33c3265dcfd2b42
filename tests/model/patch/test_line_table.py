"""One table says where lines begin, for the tools' reports and for our own arithmetic."""

import io

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.patch.line_table import LineTable

TEXTS = st.text(st.sampled_from(list("ab\r\n\f\x1c\x85\u2028\ufeff")), max_size=30)
PLACES = st.tuples(st.integers(1, 12), st.integers(1, 12))


@given(TEXTS)
def test_lines_end_where_they_end_for_everybody(text):
    """Law: there are as many lines, with the same words, as reading the file line by line gives."""
    expected = [
        line.removesuffix("\n").removeprefix("\ufeff") for line in io.StringIO(text, newline=None)
    ]
    assert LineTable(text).lines(1, len(text) + 1) == expected
    assert LineTable(text).count == len(expected)


@given(TEXTS, PLACES)
def test_the_nearest_place_is_the_place_itself_or_on_its_line(text, place):
    table = LineTable(text)
    nearest, exact, end = (
        table.nearest_offset(*place),
        table.offset(*place),
        table.line_end(place[0]),
    )
    assert 0 <= nearest <= len(text)
    if exact is not None and end is not None and exact <= end:
        assert nearest == exact
    if place[0] <= table.count and nearest < len(text):
        assert table.find_place(nearest)[0] == place[0]
    assert table.line_start(place[0]) <= nearest
