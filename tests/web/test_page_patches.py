"""A diff as git writes it is taken apart without losing a line."""

from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.web.pages.run.diff_parts import LONGEST, FilePatch, fit_window, parse_patches


def patched(repo, before: dict, after: dict) -> tuple[FilePatch, ...]:
    old = repo.commit(before, "before")
    for path in before.keys() - after.keys():
        (repo.root / path).unlink()
    new = repo.commit(after, "after")
    return parse_patches(
        repo.git("diff", "--no-ext-diff", "--find-renames", "--no-color", old, new)
    )


def test_each_file_has_its_lines_with_their_numbers(repo):
    before = "".join(f"line {number}\n" for number in range(1, 30))
    (file,) = patched(
        repo, {"a.py": before}, {"a.py": before.replace("line 20\n", "line twenty\n")}
    )
    assert (file.path, file.added, file.removed, file.notes) == ("a.py", 1, 1, ())
    (piece,) = file.pieces
    assert [(line.kind, line.number, line.text) for line in piece.lines][2:6] == [
        ("", 19, "line 19"),
        ("d", 20, "line 20"),
        ("a", 20, "line twenty"),
        ("", 21, "line 21"),
    ]


def test_removed_lines_that_look_like_headers_are_lines(repo):
    (file,) = patched(repo, {"a.sql": "-- a comment\nselect 1\n"}, {"a.sql": "++ odd\nselect 1\n"})
    assert [(line.kind, line.text) for line in file.pieces[0].lines] == [
        ("d", "-- a comment"),
        ("a", "++ odd"),
        ("", "select 1"),
    ]
    assert file.path == "a.sql"


def test_new_deleted_renamed_binary_files_and_other_modes_say_so(repo):
    text = "".join(f"{number}\n" for number in range(50))
    repo.write("run.sh", "true\n", mode=0o644)
    before = {"gone.py": "x\n", "old name.py": text, "blob": b"\0\1", "run.sh": "true\n"}
    old = repo.commit(before)
    for path in ("gone.py", "old name.py"):
        (repo.root / path).unlink()
    (repo.root / "run.sh").chmod(0o755)
    new = repo.commit({"made.py": "y\n", "new name.py": text, "blob": b"\0\2"})
    files = {
        file.path: file
        for file in parse_patches(repo.git("diff", "--find-renames", "--no-color", old, new))
    }
    assert files["made.py"].notes == ("new file",)
    assert files["gone.py"].notes == ("deleted",)
    assert (files["new name.py"].was, files["new name.py"].pieces) == ("old name.py", ())
    assert files["blob"].notes == ("binary",)
    assert files["run.sh"].notes == ("mode 100644 becomes 100755",)


def test_white_space_at_the_end_and_a_missing_line_end_are_seen(repo):
    (file,) = patched(repo, {"a.py": "x\n"}, {"a.py": "x  \t"})
    assert [(line.kind, line.text, line.tail) for line in file.pieces[0].lines] == [
        ("d", "x", ""),
        ("a", "x", "  \t"),
        ("n", " No newline at end of file", ""),
    ]


def test_of_a_large_file_only_the_beginning_is_shown_and_the_rest_is_counted():
    head = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1 +1,{1} @@\n"
    many = head.format("many.py", 100_000) + "+x\n" * 100_000
    large, small = parse_patches(many + head.format("few.py", 1) + "+x\n")
    assert (large.added, large.size, large.cut) == (100_000, LONGEST, 100_001 - LONGEST)
    assert sum(len(piece.lines) for piece in large.pieces) == LONGEST - 1
    assert (small.added, small.cut) == (1, 0)


def test_no_diff_has_no_files():
    assert parse_patches("") == ()


@settings(deadline=None)
@given(sizes=st.lists(st.integers(0, 40), max_size=20), room=st.integers(1, 60))
def test_windows_one_after_the_other_show_every_file_once(sizes, room):
    files = [FilePatch(path=str(number), body=(" x",) * size) for number, size in enumerate(sizes)]
    seen, start = [], 0
    while start is not None:
        shown = fit_window(files, start, room)
        assert shown.files or not files
        assert len(shown.files) <= 1 or sum(file.size for file in shown.files) <= room
        seen += shown.files
        start = shown.following
    assert seen == files
