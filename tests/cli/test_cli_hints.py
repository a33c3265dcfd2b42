"""A next step that is printed can be typed as it stands, where it is printed."""

import re
import shlex
import sys

import pytest

from punchlist.installed import extra_hint, find_source, pin_source

BAD = "import os\n\n\ndef total(x=None):\n    return x\n"


def find_commands(text: str) -> list[list[str]]:
    """The commands of punchlist's that a text ends with, or that stand in lines of their own."""
    found = re.findall(
        r"(?:^ {2,}|: |`)(punchlist [a-z][^`\n]*?)(?:`|\s{2,}|$)", text, re.MULTILINE
    )
    return [shlex.split(each.rstrip("."))[1:] for each in found]


@pytest.fixture
def shop(repo, make_punchlist):
    repo.commit({"a.py": "A = 1\n", "b.py": "import sys\n"})
    return make_punchlist(repo.root)


@pytest.mark.parametrize("staged", [True, False], ids=["staged", "saved"])
def test_what_a_review_of_uncommitted_work_advises_fixes_that_work(shop, repo, staged):
    repo.write("a.py", BAD)
    if staged:
        repo.git("add", "a.py")
    head = repo.head
    reviewed = shop("review", *(["--staged"] if staged else []))
    (advised,) = find_commands(reviewed.stdout)
    assert advised[:2] == ["fix", "--from"]
    fixed = shop(*advised, "--yes")
    assert fixed.returncode == 0, fixed.stdout + fixed.stderr
    assert "b.py" not in fixed.stdout
    (apply,) = [each for each in find_commands(fixed.stdout) if each[0] == "apply"]
    assert shop(*apply).returncode == 0
    assert "import os" not in (repo.root / "a.py").read_text()
    assert ("import os" in repo.git("show", ":a.py")) is False
    assert repo.head == head
    assert repo.git("status", "--porcelain").splitlines()[0] == ("M  a.py" if staged else " M a.py")


def test_each_command_that_a_summary_names_can_be_typed(shop, repo):
    repo.write("a.py", BAD)
    ran = shop("run", "--yes", "-v")
    commands = find_commands(ran.stdout)
    assert {each[0] for each in commands} >= {"show", "apply"}
    for command in commands:
        assert shop(*command).returncode == 0, command
    diff = next(
        line.strip().split("  ")[0] for line in ran.stdout.splitlines() if "git diff" in line
    )
    shown = repo.git(*shlex.split(diff)[1:])
    assert [line for line in shown.splitlines() if line.startswith(("+", "-"))][2:] == [
        "-import os"
    ]


def test_a_bare_number_is_an_item_of_the_last_run(shop, repo):
    repo.write("a.py", BAD)
    assert shop("review").returncode == 1
    assert shop("show", "1").stdout == shop("show", "last", "1").stdout
    told = shop("dismiss", "1", "--reason", "it is meant")
    assert "item" in told.stdout
    assert "it is meant" in shop("show", "1").stdout
    assert shop("dismiss", "1-3", "--undo").returncode == 0
    assert shop("dismiss", "1", "-m", "again").returncode == 0
    assert "again" in shop("show", "1").stdout
    twice = shop("show", "1", "2")
    assert twice.returncode == 2
    assert "punchlist show last 2" in twice.stderr


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (f"git+https://example.org/p.git@{'a' * 40}", "punchlist @ "),
        (f"git+ssh://git@example.org/o/p.git@{'a' * 40}", "punchlist @ "),
        (f"punchlist @ git+https://example.org/p.git@{'b' * 40}", ""),
        (f"https://example.org/p-1.0-py3-none-any.whl#sha256={'0' * 64}", "punchlist @ "),
        ("punchlist==1.2.3", ""),
    ],
)
def test_a_pinned_source_is_taken(given, taken):
    assert pin_source(given) == taken + given


@pytest.mark.parametrize(
    "given",
    [
        "punchlist", "punchlist>=1", "punchlist @ git+https://example.org/p.git",
        "git+https://example.org/p.git@main", f"git+file:///p@{'a' * 40}", "/a/folder", "evil==1.0",
        "https://example.org/p.whl", f"http://example.org/p.whl#sha256={'0' * 64}",
        f"git+https://example.org/p.git@{'a' * 40}\nrun: evil", "punchlist==1 --index-url x",
    ],
)  # fmt: skip
def test_a_source_that_could_change_is_not_taken(given):
    assert pin_source(given) == ""


@pytest.mark.parametrize(
    ("receipt", "program"),
    [
        ("pipx_metadata.json", "pipx install --force "),
        ("uv-receipt.toml", "uv tool install --force "),
    ],
)
def test_an_extra_is_added_by_what_installed_punchlist(tmp_path, monkeypatch, receipt, program):
    (tmp_path / receipt).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert extra_hint("web").startswith(program)
    assert "[web]" in extra_hint("web")


def test_hints_name_the_program_that_installed_punchlist():
    assert find_source() == ""  # tests run from a folder of this machine
    assert "[web]" in extra_hint("web")
    assert "punchlist[web]'" not in extra_hint("web")
