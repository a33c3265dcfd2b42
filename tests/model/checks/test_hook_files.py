"""Which files pre-commit gives a hook."""

import pytest

from punchlist.model.checks.hook_files import HookFiles

PATHS = ("app/a.py", "app/a.pyi", "docs/b.py", "README.md")


@pytest.mark.parametrize(
    ("given", "selected"),
    [
        (HookFiles(), PATHS),
        (HookFiles(suffixes=(".py",)), ("app/a.py", "docs/b.py")),
        (HookFiles(files=("^app/", "a")), ("app/a.py", "app/a.pyi")),
        (HookFiles(excluded=("(?x)^(\n docs/ |\n README.*\n)",)), ("app/a.py", "app/a.pyi")),
    ],
)
def test_patterns_and_suffixes_choose_files(given, selected):
    assert not given.unusable
    assert tuple(given.select(PATHS)) == selected


@pytest.mark.parametrize("pattern", ["(a+)+$", "(", "a*" * 9, "(a|b){9}x", "x" * 3000])
def test_a_pattern_that_is_wrong_or_could_take_for_ever_is_not_used(pattern):
    assert HookFiles(files=(pattern,)).unusable
