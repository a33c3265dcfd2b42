"""`punchlist init --agent`: agents of about ten lines for every role, which run as written."""

import tomllib
from pathlib import Path

import pytest

from punchlist.app.agents.examples import read_example
from punchlist.ports.roles import ROLES

NAMES = ("reviewer", "clarifier", "planner", "fixer", "challenger", "reproducer")
GUIDE = Path(__file__).parents[2] / "docs/guides/agents.md"
WORDS = """\
def count_words(path):
    with open(path) as file:
        return len(file.read().split())
"""
TEST = """\
from words import count_words


def test_words_are_counted(tmp_path):
    (tmp_path / "a").write_text("one two")
    assert count_words(tmp_path / "a") == 2
"""


@pytest.fixture
def words(repo, make_punchlist):
    """A project with one open() without an encoding, and agents of the user's own."""
    settings = '[tool.pytest.ini_options]\npythonpath = ["."]\n'
    repo.commit({"words.py": WORDS, "tests/test_words.py": TEST, "pyproject.toml": settings})
    punchlist = make_punchlist(repo.root)
    assert punchlist("init", "--agent").returncode == 0
    punchlist.env["PUNCHLIST_CONFIG"] = str(repo.root / "punchlist-agents/settings.toml")
    return punchlist


def test_there_is_one_for_every_role_and_git_does_not_see_them(words, repo):
    folder = repo.root / "punchlist-agents"
    assert {path.stem for path in folder.glob("*.py")} == set(NAMES)
    settings = tomllib.loads((folder / "settings.toml").read_text())
    assert settings["role"].keys() == set(ROLES)
    assert settings["agent"].keys() == set(NAMES)
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", NAMES)
def test_each_is_short_and_stands_in_the_guide_as_it_is(name):
    assert len(read_example(name).splitlines()) <= 15
    assert f"```python\n{read_example(name)}```" in GUIDE.read_text()


def test_they_review_reproduce_fix_and_judge_in_the_default_workflow(words):
    ran = words("run", "--all", "--yes", "--set", "analyzers.enabled=ruff")
    report = words.json("status", "last")["report"]
    (item,) = report["items"]
    assert item["status"] == "fixed", ran.stdout + ran.stderr
    assert {proof["kind"] for proof in item["proofs"]} >= {"reproduced", "reviewed", "checked"}
    assert 'open(path, encoding="utf-8")' in words("show", "last", "1").stdout


def test_they_clarify_and_plan_in_the_workflow_that_has_it(words):
    asked = words("run", "--all", "--yes", "--workflow", "challenged")
    assert "clarifier: nothing is unclear" in asked.stderr
    assert "planner planned 1 item" in asked.stderr
    assert asked.returncode == 4
    ran = words("answer", "last", "a")
    report = words.json("status", "last")["report"]
    assert [item["status"] for item in report["items"]] == ["fixed"], ran.stdout + ran.stderr


def test_what_is_there_is_not_overwritten(words, repo):
    again = words("init", "--agent")
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert words("init", "--agent", "elsewhere").returncode == 0
    assert (repo.root / "elsewhere/fixer.py").exists()


def test_no_repository_is_needed(make_punchlist, tmp_path):
    ran = make_punchlist(tmp_path)("init", "--agent")
    assert ran.returncode == 0, ran.stderr
    assert "Try them: PUNCHLIST_CONFIG=" in ran.stdout
