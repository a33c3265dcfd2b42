"""Repositories in a state nobody planned for: refused with a remedy, or worked in, and never damaged."""

import os
import shutil
import subprocess
import sys

import pytest
from hostile_ground import RUFF, Ground, notes, untouched

BAD = "import os\n\nprint(1)\n"


@pytest.fixture
def paths(ground):
    """What the last run says about each path: its items' statuses."""

    def said():
        found: dict[str, set[str]] = {}
        for item in ground.items():
            found.setdefault(item["path"], set()).add(item["status"])
        return found

    return said


def test_a_folder_that_is_no_repository_is_refused_and_nothing_begins(tmp_path, ground):
    (tmp_path / "plain").mkdir()
    told = ground("run", cwd=tmp_path / "plain")
    assert told.code == 6
    assert "not a git repository" in told.error
    assert "git init" in told.error
    assert not list(ground.home.glob("runs/*"))


def test_a_bare_repository_is_refused(tmp_path, repo, ground):
    repo.commit({"a.py": BAD})
    repo.git("clone", "--quiet", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    told = ground("run", "--all", cwd=tmp_path / "bare.git")
    assert told.code == 6
    assert "bare repository" in told.error
    assert "clone it" in told.error


def test_a_repository_without_commits_is_refused(repo, ground):
    repo.write("a.py", BAD)
    told = ground("run")
    assert told.code == 6
    assert "no commits yet" in told.error


def test_a_repository_of_somebody_else_is_refused_with_gits_own_remedy(repo, ground):
    repo.commit({"a.py": BAD})
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: giving a folder away needs root")
    for path in [repo.root, *repo.root.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    told = ground("run", "--all")
    assert told.code == 6
    assert "belongs to another user" in told.error
    assert f"safe.directory {repo.root}" in told.error


def test_a_shallow_clone_is_worked_in_and_stays_shallow(tmp_path, repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.commit({"a.py": BAD})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", str(tmp_path / "shallow"))
    ground = Ground(tmp_path / "shallow", tmp_path / "state")
    told = ground.review()
    assert told.code == 0, told.stderr
    assert ground.sound()["fixed"] == 1
    assert (ground.folder / ".git/shallow").exists()
    assert ground("apply").code == 0
    assert (ground.folder / "a.py").read_text() == "\nprint(1)\n"


def test_a_shallow_clone_without_its_base_says_how_to_get_it(tmp_path, repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("switch", "--quiet", "--create", "topic")
    repo.commit({"b.py": "y = 1\n"})
    repo.commit({"c.py": BAD})
    repo.git("switch", "--quiet", "main")
    clone = tmp_path / "shallow"
    repo.git(
        "clone",
        "--quiet",
        "--depth=1",
        "--no-single-branch",
        "--branch=topic",
        f"file://{repo.root}",
        str(clone),
    )
    ground = Ground(clone, tmp_path / "state")
    told = ground("run", "--no-checks", "--json", "--set", "analyzers.enabled=ruff")
    assert "no common history" in notes(told)
    assert "git fetch --unshallow" in notes(told)
    named = ground("run", "--base", "origin/main")
    assert named.code == 2
    assert "git fetch --unshallow" in named.error
    gone = ground("run", "--base", "v1.0")
    assert gone.code == 2
    assert "v1.0: no such commit" in gone.error
    assert ground.sound()["ok"]


def test_a_detached_head_is_worked_on_and_said(repo, ground, paths):
    repo.commit({"a.py": BAD})
    repo.git("switch", "--quiet", "--detach")
    before = untouched(repo.root)
    told = ground.review()
    assert told.code == 0, told.stderr
    assert "HEAD is detached" in notes(told)
    assert untouched(repo.root) == before
    assert paths() == {"a.py": {"fixed"}}
    assert ground.sound()["ok"]


def test_uncommitted_work_can_be_left_out_and_is_not_changed_then(repo, ground, paths):
    repo.commit({"a.py": BAD, "b.py": "x = 1\n", "c.py": "z = 1\n"})
    repo.write("a.py", "import os\nimport json\n\nprint(2)\n")
    repo.write("new.py", "import secrets\n")
    repo.write("b.py", "import re\n")
    repo.git("add", "b.py")
    (repo.root / "c.py").unlink()
    before, status = untouched(repo.root), repo.git("status", "--porcelain=v2")
    told = ground.review("--committed")
    assert told.code == 0, told.stderr
    assert "uncommitted work is left out: 4 files" in notes(told)
    assert paths() == {"a.py": {"fixed"}}
    assert untouched(repo.root) == before
    assert repo.git("status", "--porcelain=v2") == status
    applied = ground("apply")
    assert applied.code == 6
    assert "uncommitted work in files that the branch changes: a.py" in applied.error
    assert untouched(repo.root) == before
    assert ground.sound()["ok"]


def test_submodules_are_left_alone_and_said(make_repo, repo, ground, paths):
    inner = make_repo("inner")
    inner.commit({"theirs.py": BAD})
    repo.commit({"a.py": BAD})
    repo.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner.root),
        "vendor/inner",
    )
    repo.commit(message="a submodule")
    before = untouched(repo.root)
    told = ground.review()
    assert told.code == 0, told.stderr
    assert "submodules are not entered: vendor/inner" in notes(told)
    assert paths() == {"a.py": {"fixed"}}
    assert untouched(repo.root) == before
    assert ground.sound()["ok"]


def test_a_submodule_whose_repository_is_gone_is_no_trouble(make_repo, repo, ground, paths):
    inner = make_repo("inner")
    inner.commit({"theirs.py": BAD})
    repo.commit({"a.py": BAD})
    repo.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(inner.root),
        "vendor/inner",
    )
    repo.commit(message="a submodule")
    shutil.rmtree(repo.root / "vendor")
    shutil.rmtree(repo.root / ".git/modules")
    shutil.rmtree(inner.root)
    assert ground.review().code == 0
    assert paths() == {"a.py": {"fixed"}}


def test_a_path_with_spaces_quotes_and_other_letters(make_repo, tmp_path):
    repo = make_repo("Ärger mit 'Pfaden' \"hier\" $HOME `id` 漢字")
    repo.commit({"süß er/a b.py": BAD})
    ground = Ground(repo.root, tmp_path / "Zustand mit Leerzeichen ß")
    told = ground.review()
    assert told.code == 0, told.stderr
    assert [item["status"] for item in ground.items()] == ["fixed"]
    assert ground("apply").code == 0
    assert (repo.root / "süß er/a b.py").read_text() == "\nprint(1)\n"
    assert ground.sound()["ok"]


def test_names_that_differ_only_in_case_are_two_files(repo, ground, paths):
    repo.commit({"Case.py": BAD, "case.py": "import re\n\nprint(1)\n"})
    if len(list(repo.root.glob("*.py"))) < 2:
        pytest.skip("NOT TESTED HERE: this file system has one file for both names")
    assert ground.review().code == 0
    assert paths() == {"Case.py": {"fixed"}, "case.py": {"fixed"}}
    assert ground("apply").code == 0
    assert (
        (repo.root / "Case.py").read_text() == (repo.root / "case.py").read_text() == "\nprint(1)\n"
    )


def test_the_state_folder_may_lie_in_the_repository_and_is_not_taken_for_a_part_of_it(repo):
    repo.commit({"a.py": BAD})
    ground = Ground(repo.root, repo.root / ".state")
    told = ground.review()
    assert told.code == 0, told.stderr
    again = ground.review()
    assert again.code == 0, again.stderr
    assert {item["path"] for item in ground.items()} == {"a.py"}
    assert ground.sound()["ok"]
    assert ground("apply").code == 0


def test_a_check_judges_the_right_code_where_the_state_folder_lies_in_the_repository(
    repo, tmp_path, monkeypatch
):
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'[[checks]]\nname = "tests"\ncommand = ["{sys.executable}", "-m", "unittest"]\nkind = "unittest"\ntimeout = 60\n'
    )
    monkeypatch.setenv("PUNCHLIST_CONFIG", str(settings))
    test = "import unittest\nimport a\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(a)\n"
    repo.commit({"a.py": BAD, "test_a.py": test, ".gitignore": ".state/\n"})
    ground = Ground(repo.root, repo.root / ".state")
    told = ground("run", "--all", "--yes", "--json", *RUFF)
    assert told.code == 0, told.stderr
    (item,) = ground.items()
    assert {proof["kind"] for proof in item["proofs"]} == {"rechecked", "checked"}, notes(told)


def test_a_relative_state_variable_is_ignored_as_the_standard_wants(repo, ground, isolated):
    repo.commit({"a.py": BAD})
    told = ground.review(PUNCHLIST_HOME="", XDG_STATE_HOME="relative")
    assert told.code == 0, told.stderr
    assert repo.git("status", "--porcelain") == ""
    assert (isolated / ".local/state/punchlist/ledger.sqlite3").exists()


def test_started_by_a_git_hook_it_works_on_the_repository_it_stands_in(repo, ground):
    """Git gives its hooks variables that would lead every other git astray."""
    repo.commit({"a.py": BAD})
    astray = {
        "GIT_DIR": "/nonexistent",
        "GIT_INDEX_FILE": "/nonexistent",
        "GIT_WORK_TREE": "/",
        "GIT_OBJECT_DIRECTORY": "/x",
    }
    told = ground.review(**astray)
    assert told.code == 0, told.stderr
    assert ground.sound()["fixed"] == 1


def test_commands_in_the_repositorys_git_configuration_are_not_run(repo, ground, tmp_path):
    repo.commit({"a.py": BAD, ".gitattributes": "*.py diff=evil merge=evil\n"})
    mark = f"touch {tmp_path / 'ran'}; cat"
    keys = "core.fsmonitor core.sshCommand core.pager core.editor diff.external diff.evil.command diff.evil.textconv gpg.program"
    for key in (
        *keys.split(),
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
        "merge.evil.driver",
    ):
        repo.git("config", key, mark)
    repo.git("config", "commit.gpgSign", "true")
    assert ground.review().code == 0
    assert ground("apply").code == 0
    assert not (tmp_path / "ran").exists()


def test_a_damaged_repository_is_told_in_words(repo, ground):
    repo.commit({"a.py": BAD})
    blob = repo.git("rev-parse", "HEAD:a.py")
    (repo.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    told = ground.review()
    assert told.code in (3, 6), told.stderr
    assert "Traceback" not in told.stderr
    if told.code == 3:
        assert any("a.py" in each or blob in each for each in told.json["report"]["trouble"]), (
            told.stdout
        )
        assert ground.sound()["ok"]
    else:
        assert "git fsck" in told.error


def test_a_merge_under_way_is_left_alone(repo, ground):
    repo.commit({"a.py": "x = 1\n"})
    repo.git("switch", "--quiet", "--create", "one")
    repo.commit({"a.py": "x = 2\n"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"a.py": BAD})
    subprocess.run(["git", "merge", "one"], cwd=repo.root, capture_output=True, check=False)
    before = untouched(repo.root)
    told = ground.review("--committed")
    assert told.code == 0, told.stderr
    assert untouched(repo.root) == before
    staged = ground("run", "--staged")
    assert staged.code == 6
    assert "resolve the merge" in staged.error
    assert ground("apply").code == 6
    assert ground.review().code == 1  # marks of the conflict are no Python
    assert untouched(repo.root) == before
