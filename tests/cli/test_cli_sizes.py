"""What is printed stays short, says how to see the rest, and ends in one next command."""

import shlex

import pytest

MANY = 60
MOST_LINES = 12
TWO = "import os\nimport sys\n"
EVAL = "import os\n\n\ndef total(x):\n    return eval(x)\n"
UNSAFE = "def total(x=None):\n    return x == None\n\n\ndef other(x=None):\n    return x == None\n"
TEST = "from a import total\n\n\ndef test_total():\n    assert total('1') == 1\n"
NEEDS = "requests\n"
BROKEN = "import missing_package\n\n\ndef test_it():\n    assert missing_package\n"


@pytest.fixture
def many(repo, make_punchlist):
    repo.commit({"a.py": "import os\n" * MANY, ".env.py": "X = 1\n"})
    punchlist = make_punchlist(repo.root)
    assert punchlist("review", "--all").returncode == 1
    return punchlist


@pytest.fixture
def shop(repo, make_punchlist):
    repo.commit({"fine.py": "X = 1\n"})
    return make_punchlist(repo.root)


def problems(text: str) -> int:
    return sum(line.startswith("a.py:") for line in text.splitlines())


def find_next(text: str) -> list[str]:
    """Return the words of the only next command, which is the last line."""
    (line,) = [line for line in text.splitlines() if "punchlist " in line]
    assert line == text.splitlines()[-1], text
    return shlex.split(line.removeprefix("Next: punchlist ").partition("   ")[0])


def test_fifty_rows_are_shown_and_all_if_they_are_wanted(many):
    status, shown = many("status").stdout, many("show", "last").stdout
    assert problems(status) == 50
    (more,) = [line for line in status.splitlines() if line.startswith("more:")]
    assert more == "more: 11 problems: -n 0"
    assert problems(many("status", "-n", "0").stdout) > 50
    assert "more items: punchlist show" in shown
    assert len(many("show", "last", "-n", "0").stdout.splitlines()) > len(shown.splitlines())


@pytest.mark.parametrize(
    ("files", "code", "advised"),
    [
        ({"a.py": TWO}, 0, "apply"),
        ({"a.py": EVAL}, 1, "apply"),
        ({"a.py": EVAL, "test_a.py": TEST}, 1, "apply"),
        ({"a.py": UNSAFE}, 1, "show"),
        ({"a.py": TWO, "test_a.py": BROKEN, "requirements.txt": NEEDS}, 3, "setup"),
        ({"a.py": UNSAFE, "test_a.py": BROKEN, "go.sh": "echo $1\n", "requirements.txt": NEEDS}, 1, "setup"),
    ],
    ids=["fixed", "one left", "tested", "two left", "broken tests", "all at once"],
)  # fmt: skip
def test_a_run_with_two_findings_is_summed_up_in_twelve_lines_and_one_next_command(
    shop, repo, files, code, advised
):
    repo.commit(files)
    ran = shop("run", "--all", "--yes", "--quiet", "--set", "analyzers.select=F401,E711,S307")
    assert ran.returncode == code, ran.stdout
    assert len(ran.stdout.splitlines()) <= MOST_LINES, ran.stdout
    command = find_next(ran.stdout)
    assert command[0] == advised
    assert shop(*command, *(["--show"] if advised == "setup" else [])).returncode == 0
    assert len(shop("status").stdout.splitlines()) <= MOST_LINES


def test_after_apply_the_next_command_is_another_one(shop, repo):
    repo.write("a.py", TWO)
    ran = shop("run", "--yes", "--quiet")
    assert "write the fixes into your files" in ran.stdout
    assert shop(*find_next(ran.stdout)).returncode == 0
    status = shop("status").stdout
    assert ", applied" in status
    assert find_next(status)[0] == "show"


def test_where_nothing_was_found_there_is_nothing_to_type(shop):
    ran = shop("run", "--all", "--yes", "--quiet")
    assert (ran.returncode, len(ran.stdout.splitlines())) == (0, 2)
    assert "punchlist " not in ran.stdout


def test_what_was_not_checked_is_listed_by_the_next_command(shop, repo):
    repo.git("rm", "--quiet", "fine.py")
    repo.commit({"go.sh": "#!/bin/sh\necho $1\n"})
    ran = shop("run", "--all", "--yes", "--quiet")
    assert ran.returncode == 3
    said = shop(*find_next(ran.stdout)).stdout
    assert "ruff did not look: no files it looks at" in said


def test_all_numbers_notes_and_commands_are_shown_if_they_are_wanted(shop, repo):
    repo.commit({"a.py": EVAL})
    ran = shop("run", "--all", "--yes", "--quiet", "-v")
    for word in ("Found", "Filed", "git diff HEAD...", "punchlist apply", "punchlist show"):
        assert word in ran.stdout
    assert "report.html" in ran.stdout
