"""What is printed stays short, and says how to see the rest."""

import pytest

MANY = 60


@pytest.fixture
def many(repo, make_punchlist):
    repo.commit({"a.py": "import os\n" * MANY, ".env.py": "X = 1\n"})
    punchlist = make_punchlist(repo.root)
    assert punchlist("review", "--all").returncode == 1
    return punchlist


def problems(text: str) -> int:
    return sum(line.startswith("a.py:") for line in text.splitlines())


def test_fifty_rows_are_shown_and_all_if_they_are_wanted(many):
    status, shown = many("status").stdout, many("show", "last").stdout
    assert problems(status) == 50
    (more,) = [line for line in status.splitlines() if line.startswith("more:")]
    assert " -n 0" in more
    assert problems(many("status", "-n", "0").stdout) > 50
    assert "more items: punchlist show" in shown
    assert len(many("show", "last", "-n", "0").stdout.splitlines()) > len(shown.splitlines())


def test_a_run_with_two_findings_is_summed_up_in_few_lines(repo, make_punchlist):
    repo.commit({"a.py": "import os\nimport sys\n"})
    ran = make_punchlist(repo.root)("run", "--all", "--yes", "--quiet")
    assert ran.returncode == 0, ran.stdout
    body = [line for line in ran.stdout.splitlines() if line.strip()]
    notes = [line for line in body if line.lstrip().startswith("- ")]
    assert len(notes) <= 3
    assert len(body) <= 18, ran.stdout
