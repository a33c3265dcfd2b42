"""Paths of reports come down to one form, and nothing is dropped for an odd one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.finding.paths import DIRECTORY, NO_FILE, OUTSIDE, normalize_path

ROOT = "/home/me/my project"


@pytest.mark.parametrize(
    "raw",
    [
        "src/a.py",
        "./src/a.py",
        "src/./a.py",
        "src//a.py",
        "src/b/../a.py",
        "/home/me/my project/src/a.py",
        "/home/me/my project/./src/a.py",
        "//home/me/my project/src/a.py",
        "file:///home/me/my%20project/src/a.py",
        "FILE:///home/me/my%20project/src/a.py",
        "file:/home/me/my%20project/src/a.py",
        "file://localhost/home/me/my%20project/src/a.py",
        "src\\a.py",
        ".\\src\\a.py",
        "src%2Fa.py",
        " src/a.py\r",
    ],
)
def test_all_spellings_of_a_file_are_one(raw):
    assert normalize_path(raw, ROOT) == ("src/a.py", "")


@pytest.mark.parametrize(
    "raw",
    ["C:\\proj\\src\\a.py", "c:\\proj\\src\\a.py", "file:///C:/proj/src/a.py", "C:/proj/src/a.py"],
)
def test_a_windows_report_of_a_windows_root_is_understood(raw):
    assert normalize_path(raw, "C:\\proj\\") == ("src/a.py", "")


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("../other/a.py", "../other/a.py"),
        ("/etc/passwd", "/etc/passwd"),
        ("/home/me/my project2/a.py", "/home/me/my project2/a.py"),
        ("C:\\proj\\a.py", "/C:/proj/a.py"),
        ("src/../../a.py", "../a.py"),
    ],
)
def test_a_path_outside_the_root_is_kept_and_marked(raw, kept):
    assert normalize_path(raw, ROOT) == (kept, OUTSIDE)


@pytest.mark.parametrize("raw", [".", "./", ROOT, "src/", "src\\", ROOT + "/"])
def test_a_directory_is_marked(raw):
    assert normalize_path(raw, ROOT)[1] == DIRECTORY


@pytest.mark.parametrize("raw", ["", " ", "\n"])
def test_no_name_at_all_is_marked(raw):
    assert normalize_path(raw, ROOT) == ("", NO_FILE)


def test_a_literal_name_keeps_its_backslash_percent_and_blanks():
    assert normalize_path("./odd\\na%20me ", ROOT, literal=True) == ("odd\\na%20me ", "")


def test_a_root_of_the_file_system_holds_everything():
    assert normalize_path("/a.py", "/") == ("a.py", "")


@given(st.text(st.characters(blacklist_characters="\0"), min_size=1), st.booleans())
def test_normalising_twice_changes_nothing_and_a_clean_path_stays_below(raw, literal):
    path, mark = normalize_path(raw, ROOT, literal=literal)
    if not mark:
        assert path
        assert not path.startswith(("/", "../"))
        assert normalize_path(path, ROOT, literal=True) == (path, "")
