"""Which files are the judge's own."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from punchlist.model.checks.protected import matches_any
from punchlist.settings import Settings

JUDGE = Settings().protected


@pytest.mark.parametrize(
    "path",
    ["tests/test_a.py", "pkg/tests/data/x.json", "conftest.py", "a/b/conftest.py", "pyproject.toml", ".github/workflows/ci.yml",
     "src/test_a.py", "a/b_test.go", "web/x.test.ts", "poetry.lock", "tests/a\nb.py", "a/.eslintrc.cjs", "requirements-dev.txt",
     "pytest.py", "_pytest/config.py", "src/unittest/__init__.py", ".pytest.ini", "evil.egg-info/entry_points.txt"],
)  # fmt: skip
def test_tests_checks_and_their_configuration_belong_to_the_judge(path):
    assert JUDGE.holds(path)


@pytest.mark.parametrize(
    "path",
    ["src/a.py", "contest.py", "latest/x.py", "mytests.txt", "conftest.py\n", "conftest.pyx", "src/pyproject.toml.j2",
     "pkg/integrations/pytest.py", "vendor/src/unittest.py", "pytest.pyi"],
)  # fmt: skip
def test_other_files_do_not(path):
    assert not JUDGE.holds(path)


def test_without_patterns_nothing_matches():
    assert not matches_any("a", ())


def test_a_slash_in_front_holds_a_pattern_to_the_root():
    assert matches_any("a/b.py", ("/a/*.py",))
    assert not matches_any("x/a/b.py", ("/a/*.py",))
    assert matches_any("x/a/b.py", ("a/*.py",))


def test_what_passes_for_the_runner_is_shown_to_analyzers_as_it_is():
    assert not matches_any("pytest.py", JUDGE.steering)
    assert matches_any("ruff.toml", JUDGE.steering)


PARTS = st.sampled_from(["a", "b", ".", "/", "*", "**", "**/", "?", "\n"])
WILD = {"**": ".*", "**/": ".*", "*": "[^/]*", "?": "[^/]"}


@given(st.lists(st.lists(PARTS, min_size=1, max_size=5).map("".join), min_size=1, max_size=4),
       st.text("ab./\n", max_size=8))  # fmt: skip
def test_a_pattern_means_what_its_regular_expression_says(patterns, path):
    def fits(pattern):
        start = r"\A" if pattern.startswith("/") else r"(?:\A|/)"
        parts = re.split(r"(\*\*/?|\*|\?)", pattern.strip("/"))
        body = "".join(WILD.get(part) or re.escape(part) for part in parts)
        return re.search(rf"{start}{body}\Z", path, re.DOTALL) is not None

    assert matches_any(path, tuple(patterns)) == any(map(fits, patterns))
