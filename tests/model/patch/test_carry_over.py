"""A change is carried over to another version of a text only where the lines around it are the same."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.patch.carry_over import carry_over
from punchlist.model.patch.patch import apply_splices

LINES = [f"line {number}\n" for number in range(30)]
BEFORE = "".join(LINES)
AFTER = BEFORE.replace("line 10\n", "line ten\nand more\n")

texts = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c\r\n", "d", "\fe\n"]), max_size=12).map(
    "".join
)


def carried(now: str) -> str | None:
    splices = carry_over("a.py", BEFORE, AFTER, now)
    return None if splices is None else apply_splices(now, splices)


def test_lines_elsewhere_may_be_others():
    now = "new\n" + BEFORE.replace("line 20\n", "")
    assert carried(now) == "new\n" + AFTER.replace("line 20\n", "")


def test_the_lines_and_three_around_them_may_not():
    for number in range(7, 14):
        assert carried(BEFORE.replace(f"line {number}\n", f"line {number} \n")) is None
    for number in (6, 14):
        assert carried(BEFORE.replace(f"line {number}\n", "")) is not None


def test_what_is_there_twice_or_already_done_is_left_alone():
    assert carried(BEFORE + BEFORE) is None
    assert carried(AFTER) is None
    assert carried("") is None


def test_a_longer_last_line_is_not_the_same_line():
    assert carry_over("a", "x\ny", "x\nz", "x\nyy") is None
    assert carry_over("a", "x\ny", "x\nz", "w\nx\ny") is not None
    assert carry_over("a", "x\ny\n", "z\n", "wx\ny\n") is None


@given(texts, texts, texts, texts)
def test_what_is_carried_over_does_the_same_to_a_text_with_more_around_it(
    before, after, head, tail
):
    assert apply_splices(before, carry_over("a", before, after, before) or ()) == after
    now = f"{head}\n{before}\n{tail}"
    splices = carry_over("a", before, after, now)
    if splices:
        assert sum(len(each.text) - (each.end - each.start) for each in splices) == len(
            after
        ) - len(before)
        apply_splices(now, splices)
