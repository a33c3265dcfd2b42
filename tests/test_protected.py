"""Which files are the judge's own."""

import pytest

from punchlist.model.protected import Protected, matches

JUDGE = Protected()


@pytest.mark.parametrize(
    "path",
    ["tests/test_a.py", "pkg/tests/data/x.json", "conftest.py", "a/b/conftest.py", "pyproject.toml", ".github/workflows/ci.yml",
     "src/test_a.py", "a/b_test.go", "web/x.test.ts", "poetry.lock", "tests/a\nb.py", "a/.eslintrc.cjs", "requirements-dev.txt"],
)  # fmt: skip
def test_tests_checks_and_their_configuration_belong_to_the_judge(path):
    assert JUDGE.holds(path)


@pytest.mark.parametrize(
    "path", ["src/a.py", "contest.py", "latest/x.py", "mytests.txt", "conftest.py\n", "conftest.pyx", "src/pyproject.toml.j2"]
)
def test_other_files_do_not(path):
    assert not JUDGE.holds(path)


def test_without_patterns_nothing_matches():
    assert not matches("a", ())
