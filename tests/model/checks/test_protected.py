"""Which files are the judge's own."""

import pytest

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
