"""What a formatter changes after several fixes becomes part of the fixes."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.adopt_edits import adopt_edits
from punchlist.model.patch.patch import Patch, apply_splices, has_overlap


def patch(*edits) -> Patch:
    return Patch(splices=tuple(Splice("a.py", *edit) for edit in edits))


def apply(before, patches) -> str:
    return apply_splices(before, [splice for each in patches.values() for splice in each.splices])


def test_blank_lines_that_two_fixes_leave_together_go_with_one_of_them():
    before = "import a\nimport b\n\n\nx = 1\n"
    patches = {1: patch((0, 9, "")), 2: patch((9, 18, ""))}
    new = adopt_edits("a.py", before, patches, "x = 1\n")
    assert len(new) == 1
    assert apply(before, patches | new) == "x = 1\n"


def test_a_line_that_a_fix_makes_short_is_joined_by_that_fix():
    before = "f(\n    f'a'\n)\ny = 0\n"
    patches = {4: patch((7, 8, "")), 5: patch((18, 19, "1"))}
    new = adopt_edits("a.py", before, patches, "f('a')\ny = 1\n")
    assert new == {4: patch((0, 14, "f('a')\n"))}


def test_what_changes_the_text_of_several_fixes_is_left_out():
    before = "f(a,\n  b)\n"
    patches = {1: patch((2, 3, "c")), 2: patch((7, 8, "d"))}
    assert adopt_edits("a.py", before, patches, "f(c, d)\n") == {}


LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "  c\n"]), min_size=1, max_size=8)


@given(LINES, st.data())
def test_one_fix_takes_over_every_edit_and_none_overlap(lines, data):
    before = "".join(lines)
    spots = data.draw(st.lists(st.integers(0, len(before)), min_size=2, max_size=2).map(sorted))
    only = {7: patch((spots[0], spots[1], data.draw(st.sampled_from(["", "z", "z\n", "q\nq"]))))}
    after = "".join(data.draw(LINES))
    new = adopt_edits("a.py", before, only, after)
    assert apply(before, only | new) == (after if new else apply(before, only))
    assert new or after == apply(before, only)


@given(st.data())
def test_several_fixes_never_overlap_after_it(data):
    before = "a\n\nb\n  c\n\nd\ne\n"
    cuts = data.draw(st.lists(st.integers(0, len(before)), min_size=4, max_size=4, unique=True))
    one, two, three, four = sorted(cuts)
    texts = st.sampled_from(["", "x", "y\n", "z\nz\n"])
    patches = {1: patch((one, two, data.draw(texts))), 2: patch((three, four, data.draw(texts)))}
    new = adopt_edits("a.py", before, patches, "".join(data.draw(LINES)))
    every = [splice for each in (patches | new).values() for splice in each.splices]
    assert not has_overlap(every)
