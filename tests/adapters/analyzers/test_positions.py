"""Places in any unit come out as the right character."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.adapters.analyzers.entries import decode_json
from punchlist.model.patch.text_positions import UTF8, UTF16, Positions

TEXTS = st.text(st.sampled_from(list("ab é😀\r\n\u2028\x0c\udcff\ufeff")), max_size=30)


@given(TEXTS, st.data())
def test_an_offset_survives_the_way_to_line_and_column_and_back(text, data):
    first = 1 if text.startswith("\ufeff") else 0
    offset = data.draw(st.integers(first, len(text)))
    assert Positions(text).offset(*Positions(text).find_place(offset)) == offset


@given(TEXTS, st.data())
def test_code_units_lead_to_the_character_they_begin(text, data):
    offset = data.draw(st.integers(0, len(text)))
    head = text[:offset]
    assert (
        Positions(text).convert_offset(len(head.encode("utf-8", "surrogateescape")), UTF8) == offset
    )
    assert (
        Positions(text).convert_offset(len(head.encode("utf-16-le", "surrogatepass")) // 2, UTF16)
        == offset
    )


def test_a_place_the_file_does_not_have_is_none():
    positions = Positions("ab\nc")
    assert positions.offset(1, 4) == 3
    assert positions.offset(3, 1) == 4, (
        "one past the last line is the end of the file, with or without a line end"
    )
    assert all(
        positions.offset(*place) is None
        for place in ((1, 5), (2, 3), (3, 2), (4, 1), (0, 1), (1, 0))
    )
    assert Positions("").offset(1, 1) == 0
    assert Positions("a\n").offset(2, 1) == 2
    assert [positions.convert_offset(units, UTF8) for units in (-1, 4, 5)] == [None, 4, None]
    assert Positions("é").convert_offset(1, UTF8) is None


def test_columns_are_counted_in_code_points():
    positions = Positions("é😀x\n")
    assert positions.convert_column(1, 6, UTF8) == 3
    assert positions.convert_column(1, 3, UTF16) == 3
    assert positions.convert_column(9, 3, UTF16) == 4
    assert positions.convert_column(None, 3, UTF16) is None


def test_half_a_character_in_a_report_is_replaced_and_whole_ones_stay():
    raw = b'["\\udcff", "\\ud83d\\ude00", "\\\\udcff", "\\\\\\udcff", "\xff", "\\ud83d"]'
    assert decode_json(raw, list) == ["\ufffd", "😀", "\\udcff", "\\\ufffd", "\ufffd", "\ufffd"]
