"""Patterns of paths mean what they mean in .gitignore."""

import pytest

from punchlist.model.finding.path_patterns import is_excluded, place_pattern


@pytest.mark.parametrize(
    ("patterns", "path", "excluded"),
    [
        (["vendor"], "a/vendor/x.py", True),
        (["vendor/"], "vendor", False),
        (["/vendor"], "a/vendor/x.py", False),
        (["a/*.py"], "a/b/x.py", False),
        (["a/**/x.py"], "a/x.py", True),
        (["a/**"], "a/b/x.py", True),
        (["**/gen"], "gen/x.py", True),
        (["*_pb2.py", "!keep_pb2.py"], "a/keep_pb2.py", False),
        (["vendor/", "!vendor/ours.py"], "vendor/ours.py", True),
        (["vendor/*", "!vendor/ours.py"], "vendor/ours.py", False),
        (["[ab].py"], "b.py", True),
        (["[!ab].py"], "b.py", False),
        (["[z-a"], "[z-a", True),
        (["./a"], "a/b", True),
        (["/"], "a", False),
    ],
)
def test_patterns_exclude_as_in_gitignore(patterns, path, excluded):
    assert is_excluded(path, patterns) is excluded


@pytest.mark.parametrize(
    ("pattern", "inside", "excluded"),
    [
        ("gen", "lib/a/gen/x.py", True),
        ("gen", "gen/x.py", False),
        ("/gen", "lib/a/gen/x.py", False),
        ("/gen", "lib/gen/x.py", True),
        ("a/*.py", "lib/a/x.py", True),
    ],
)
def test_a_folders_patterns_hold_below_it(pattern, inside, excluded):
    assert is_excluded(inside, [place_pattern(pattern, "lib")]) is excluded
