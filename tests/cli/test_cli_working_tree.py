"""What is on disk is looked at and fixed there; what was not looked at is never called clean."""

import json
import signal
import subprocess

import pytest

EDITED = "import os\n\n\ndef total(x=None):\n    return x\n"
FIXED = "def total(x=None):\n    return x\n"
COMMANDS = (("review",), ("run", "--yes"), ("review", "--all"), ("run", "--all", "--yes"))


@pytest.fixture
def shop(repo, make_punchlist):
    """main and a branch with a commit of its own, both without defects."""
    repo.commit({"a.py": FIXED, "b.py": "B = 1\n", ".gitignore": "build/\n"})
    repo.git("checkout", "--quiet", "-b", "work")
    repo.commit({"b.py": "B = 2\n"})
    return make_punchlist(repo.root)


def state_of(repo) -> tuple[str, ...]:
    """The index, the stash, the branches that are the user's, and HEAD."""
    branches = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads")
    ours = [line for line in branches.splitlines() if "refs/heads/punchlist/" not in line]
    return (repo.git("ls-files", "--stage"), repo.git("stash", "list"), repo.head, *ours)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_edit_that_is_not_committed_is_found(shop, repo, command):
    repo.write("a.py", EDITED)
    repo.write("new/c.py", "import sys\n")
    repo.write("build/d.py", "import re\n")
    before = state_of(repo)
    ran = shop(*command, "--json")
    found = {each["spot"]["path"] for item in report_of(ran)["items"] for each in item["findings"]}
    assert found == {"a.py", "new/c.py"}
    assert state_of(repo) == before
    assert (repo.root / "a.py").read_text() == EDITED


def report_of(ran) -> dict:
    return json.loads(ran.stdout)["report"]


def test_fixes_are_written_into_the_files_and_nothing_is_committed_or_staged(shop, repo):
    repo.write("a.py", EDITED)
    repo.write("new.py", "import sys\n\nX = 1\n")
    repo.write("b.py", "B = 3\n")
    repo.git("add", "b.py")
    before = state_of(repo)
    ran = shop("run", "--yes")
    assert "write the fixes into your files" in ran.stdout
    assert [line for line in ran.stdout.splitlines() if "git diff" in line and "HEAD" in line] == []
    applied = shop("apply")
    assert "applied to 2 files: a.py, new.py (nothing was committed)" in applied.stdout
    assert (repo.root / "a.py").read_text().lstrip() == FIXED
    assert (repo.root / "new.py").read_text().strip() == "X = 1"
    assert state_of(repo) == before
    assert "already" in shop("apply").stdout
    assert "applied" in shop("list").stdout


def test_a_file_that_was_edited_since_is_refused_by_its_name(shop, repo):
    repo.write("a.py", EDITED)
    repo.write("c.py", "import sys\n")
    assert shop("run", "--yes").returncode == 0
    repo.write("c.py", "import sys\n\nprint('mine')\n")
    refused = shop("apply")
    assert refused.returncode == 6
    assert "edited since the run looked at them: c.py\n" in refused.stderr
    assert (repo.root / "a.py").read_text() == EDITED
    assert (repo.root / "c.py").read_text() == "import sys\n\nprint('mine')\n"
    (repo.root / "c.py").unlink()
    assert "c.py" in shop("apply").stderr


def test_on_the_main_line_the_change_is_what_is_not_committed(repo, make_punchlist):
    repo.commit({"old.py": "import os\n", "a.py": FIXED})
    punchlist = make_punchlist(repo.root)
    assert "old.py" in punchlist("review").stdout  # nothing is edited: everything is the change
    repo.write("a.py", EDITED)
    ran = punchlist("review")
    assert "the working tree against HEAD" in ran.stderr
    assert "a.py:1:8" in ran.stdout
    assert "old.py" not in ran.stdout


@pytest.mark.parametrize("scope", [("--committed",), ("--commit", "HEAD"), ("--staged",)])
def test_a_tree_with_unseen_edits_is_not_called_clean(shop, repo, scope):
    repo.write("b.py", "B = 4\n")
    repo.git("add", "b.py")
    repo.write("a.py", EDITED)
    for command in ("review", "run"):
        ran = shop(command, *scope)
        assert ran.returncode == 0, ran.stderr
        said = (ran.stdout + ran.stderr).lower()
        assert "clean:" not in said
        assert "left out: " in said
        assert json.loads(shop(command, *scope, "--json").stdout)["report"]["outcome"] == (
            "nothing-found"
        )
    assert "clean" not in shop("list").stdout.lower()


def test_a_tree_that_was_looked_at_is_clean(shop, repo):
    repo.write("a.py", FIXED + "\n\nX = 1\n")
    assert "Clean: no problems found in this change." in shop("review").stdout


def test_files_of_keys_and_caches_are_named_and_not_looked_at(shop, repo):
    repo.write("a.py", EDITED)
    repo.write(".env", "TOKEN=1\n")
    ran = shop("review")
    assert "named like a file of keys): .env" in ran.stdout + ran.stderr
    ours = repo.git("cat-file", "--batch-all-objects", "--batch-check").splitlines()
    assert shop("run", "--yes").returncode == 0
    assert "TOKEN" not in "".join(repo.git("cat-file", "-p", line.split()[0]) for line in ours)


def test_a_ci_service_s_job_keeps_to_commits(shop, repo):
    repo.write("a.py", EDITED)
    ran = shop("review", CI="true")
    assert "uncommitted work is left out: 1 file" in ran.stdout + ran.stderr


def test_a_conflict_that_is_not_resolved_is_looked_at_as_it_is_on_disk(shop, repo):
    repo.git("checkout", "--quiet", "main")
    repo.commit({"b.py": "B = 9\n"})
    repo.git("checkout", "--quiet", "work")
    with pytest.raises(AssertionError, match="merge"):
        repo.git("merge", "--quiet", "main")
    ran = shop("review")
    assert ran.returncode in {1, 3}, ran.stderr
    assert "b.py" in ran.stdout


def test_on_a_fresh_branch_nothing_changed_and_that_is_no_failure(shop, repo):
    repo.commit({"old.py": "import os\n"})
    repo.git("branch", "--force", "main", "HEAD")
    repo.git("checkout", "--quiet", "-b", "fresh")
    for command in ("review", "run"):
        ran = shop(command)
        assert ran.returncode == 0, ran.stderr
        assert "Nothing changed, so nothing was looked at" in ran.stdout
        assert "old.py" not in ran.stdout
        assert "clean" not in ran.stdout.lower()
    repo.write("new.py", "import sys\n")
    assert "new.py:1:8" in shop("review").stdout


def test_a_watched_review_looks_again_when_a_file_is_saved(shop, repo):
    repo.write("a.py", FIXED + "X = 1\n")
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with shop.start("review", "--watch", "--set", "analyzers.enabled=ruff", **streams) as watched:
        assert any(b"waiting for a file" in line for line in watched.stderr)
        assert b"Clean" in watched.stdout.readline() + watched.stdout.readline()
        repo.write("a.py", EDITED)
        assert any(line.startswith(b"a.py:1:8: F401") for line in watched.stdout)
        assert any(b"waiting for a file" in line for line in watched.stderr)
        watched.send_signal(signal.SIGINT)
        assert watched.wait(30) == 1


def test_a_watched_review_has_no_document(shop):
    refused = shop("review", "--watch", "--json")
    assert refused.returncode == 2
    assert "--watch" in refused.stdout + refused.stderr


def test_a_change_of_docs_alone_is_no_failure_and_not_called_clean(shop, repo):
    repo.git("checkout", "--quiet", "main")
    repo.write("README.md", "# The shop\n")
    repo.write("page.html", "<p>\n")
    for command in ("review", "run"):
        ran = shop(command)
        assert ran.returncode == 0, ran.stdout
        assert "No program file" in ran.stdout
        assert "clean" not in ran.stdout.lower()
    repo.write("b.go", "package b\n")
    assert shop("review").returncode == 3
