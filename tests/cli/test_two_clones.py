"""A run belongs to its repository, in whichever clone it was made; different repositories stay apart."""

import asyncio
import json
import shutil
import subprocess

import pytest

from punchlist.adapters.git.checkout import Checkout


@pytest.fixture
def clones(repo, tmp_path, make_punchlist):
    """Make a clone of the repository and the command in it, with a ledger that all of them share."""
    repo.commit({"a.py": "import os\n"}, "first")
    bare = tmp_path / "shop.git"
    repo.git("clone", "--quiet", "--bare", str(repo.root), str(bare))

    def clone(name, url="https://ada:s3cret@example.org/Team/shop.git", source=None, **env):
        folder = tmp_path / name
        repo.git("clone", "--quiet", str(source or bare), str(folder))
        set_remote(folder, url)
        command = make_punchlist(folder)
        command.env |= {"PUNCHLIST_HOME": str(tmp_path / "home"), **env}
        return command

    return clone


def set_remote(folder, url):
    git(folder, "remote", "remove", "origin")
    if url:
        git(folder, "remote", "add", "origin", url)


def git(folder, *words):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True
    )


def runs(command):
    return [line["run"] for line in command.json("list")]


def test_a_second_clone_of_the_same_remote_sees_the_runs_and_no_credential_is_stored(
    clones, tmp_path
):
    first = clones("one")
    second = clones("two", "git@EXAMPLE.org:Team/shop")
    first("review", "--all")
    (run,) = runs(first)
    assert runs(second) == [run]
    assert second.json("audit")["ok"]
    assert "F401" in second("show", run).stdout
    second("review", "--all")
    assert len(runs(first)) == len(runs(second)) == 2
    assert run in first("report", "last", "--format", "md").stdout, "that of this very clone"
    for path in (tmp_path / "home").rglob("*"):
        assert not path.is_file() or b"s3cret" not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("https://example.org/Team/shop", "https://example.org/ada/shop"),
        ("https://example.org/Team/shop", ""),
        ("", "https://example.org/Team/shop"),
        ("", ""),
    ],
)
def test_a_fork_and_a_clone_without_a_remote_are_repositories_of_their_own(clones, first, second):
    one, two = clones("one", first), clones("two", second)
    one("review", "--all")
    assert len(runs(one)) == 1
    assert runs(two) == []


def test_a_folder_that_moved_keeps_its_runs(clones, tmp_path, make_punchlist):
    before = clones("one")
    before("review", "--all")
    shutil.move(before.folder, tmp_path / "moved")
    after = make_punchlist(tmp_path / "moved")
    after.env["PUNCHLIST_HOME"] = before.env["PUNCHLIST_HOME"]
    assert runs(after) != []
    after("clean", "--everywhere")
    assert after("report", "last", "--format", "json").returncode == 0
    assert after.json("audit")["ok"]


def test_another_repository_in_the_same_folder_has_none_of_its_runs(clones, tmp_path):
    first = clones("one")
    first("review", "--all")
    shutil.rmtree(first.folder)
    other = clones("one", "https://example.org/Team/other")
    assert runs(other) == []


def test_a_local_remote_and_a_registered_name_are_told_apart_by_the_first_commit(
    clones, tmp_path, repo
):
    for register in (False, True):
        url = "" if register else str(tmp_path / "shop.git")
        names = [f"{each}{register}" for each in ("one", "two", "three")]
        one, two = (clones(name, url) for name in names[:2])
        stranger = tmp_path / names[2]
        stranger.mkdir()
        git(stranger, "init", "--quiet")
        (stranger / "b.py").write_text("import os\n")
        git(stranger, "add", ".")
        git(stranger, "commit", "--quiet", "--message", "another beginning")
        three = clones(f"copy{register}", url, source=stranger)
        if register:
            for each in (one, two, three):
                git(each.folder, "config", "punchlist.repository", "payments")
        one("review", "--all")
        assert runs(two) == runs(one) != []
        assert runs(three) == []


def test_runs_of_a_ledger_that_names_only_paths_are_found(clones, tmp_path):
    plain = clones("one", "")
    plain("review", "--all")
    (run,) = runs(plain)
    git(plain.folder, "remote", "add", "origin", "https://example.org/Team/shop")
    assert runs(plain) == [run], "it recorded its path and no identity"
    lines = plain("audit", "--export", "-").stdout
    assert "identity" not in json.loads(lines.splitlines()[0])["event"]


def test_a_run_whose_commits_are_in_another_clone_is_not_resumed_here(clones, tmp_path):
    first, second = clones("one"), clones("two")
    (first.folder / "b.py").write_text("import sys\n")
    git(first.folder, "add", ".")
    git(first.folder, "commit", "--quiet", "--message", "only here")
    process = first.start("review", "--all", "--events", stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.wait()
    process.stdout.close()
    told = second("resume", "last")
    assert told.returncode == 2, told
    assert "was started in another clone" in told.stderr
    assert str(first.folder) in told.stderr
    assert first("resume", "last").returncode in {0, 1}


def test_what_was_allowed_in_one_clone_is_not_allowed_in_another(clones, repo):
    repo.commit({".punchlist.toml": 'documents = "docs"\n'})
    first, second = (clones(name, source=repo.root) for name in ("one", "two"))
    assert first("allow").returncode == 0
    notes = [json.dumps(each.json("review", "--all")) for each in (first, second)]
    assert [".punchlist.toml was not used" in each for each in notes] == [False, True]
    assert len(runs(first)) == len(runs(second)) == 2


def test_a_checkout_at_another_commit_is_of_the_same_repository(repo):
    repo.commit({"a.py": "X = 1\n"})
    repo.git("remote", "add", "origin", "https://github.example/acme/shop.git")
    found = asyncio.run(Checkout.find(repo.root))
    assert found.identity
    moved = found.move_head("f" * 40)
    assert (moved.head, moved.identity) == ("f" * 40, found.identity)
