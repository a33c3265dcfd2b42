"""Changes as people read them."""

from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.finding import Splice
from punchlist.model.patch.hunk import LONGEST, Hunk, OriginalFile, make_hunks
from punchlist.model.patch.patch import FileChange, Patch, apply_splices


def drawn(text: str, *splices: tuple[int, int, str]) -> tuple[Hunk, ...]:
    return make_hunks(
        Patch(splices=tuple(Splice("a.py", *each) for each in splices)),
        {"a.py": OriginalFile("a.py", text)},
    )


def test_a_changed_line_is_shown_between_two_others():
    (hunk,) = drawn("a\nb\nc\nd\ne\nf\n", (4, 5, "C"))
    assert hunk == Hunk("a.py", 1, (" a", " b", "-c", "+C", " d", " e"))


def test_changes_far_apart_are_two_hunks_and_near_ones_are_one():
    text = "".join(f"line {n}\n" for n in range(10, 40))
    assert [hunk.line for hunk in drawn(text, (0, 4, "LINE"), (160, 164, "LINE"))] == [1, 19]
    assert len(drawn(text, (0, 4, "LINE"), (24, 28, "LINE"))) == 1


def test_a_missing_end_of_line_is_told_as_git_tells_it():
    (hunk,) = drawn("a\nb", (3, 3, "\n"))
    assert hunk.lines == (" a", "-b", "\\ No newline at end of file", "+b")


def test_carriage_returns_are_shown_only_where_they_make_the_difference():
    assert drawn("a\r\nb\r\n", (0, 1, "A"))[0].lines == ("-a", "+A", " b")
    assert drawn("a\r\nb\r\n", (1, 3, "\n"))[0].lines == ("-a\r", "+a", " b\r")


def test_a_long_hunk_is_cut_and_says_so():
    (hunk,) = drawn("x\n", (0, 2, "y\n" * 500))
    assert len(hunk.lines) == LONGEST
    assert hunk.cut == 501 - LONGEST


def test_whole_files_are_told_in_words_where_they_are_no_text():
    patch = Patch(
        files=(
            FileChange("gone.py", None),
            FileChange("logo.png", "\x89PNG\0"),
            FileChange("new.py", "x = 1\n"),
        )
    )
    assert [hunk.lines for hunk in make_hunks(patch, {})] == [
        ("\\ The file is deleted",),
        ("\\ A binary file of 5 bytes",),
        ("+x = 1",),
    ]


def test_a_file_that_could_not_be_read_is_at_least_named():
    assert make_hunks(Patch(splices=(Splice("b.py", 0, 1, ""),)), {}) == (Hunk("b.py", 1, ()),)


@given(st.text(alphabet="ab\n", max_size=60), st.data())
def test_taking_the_shown_lines_in_and_out_gives_the_file_after_the_change(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    new = data.draw(st.text(alphabet="xy\n", max_size=20))
    (hunk,) = drawn(text, (start, end, new))
    after = apply_splices(text, [Splice("a.py", start, end, new)])
    kept = [line[1:] for line in hunk.lines if line[0] in " +"]
    was = [line[1:] for line in hunk.lines if line[0] in " -"]
    old = text.split("\n")
    rebuilt = "\n".join([*old[: hunk.line - 1], *kept])
    assert old[hunk.line - 1 : hunk.line - 1 + len(was)] == was
    assert after.startswith(rebuilt)
