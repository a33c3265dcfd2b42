"""The user's repository is found from anywhere in it, and refused with a remedy where it cannot be worked with."""

import asyncio
import os
from pathlib import Path

import pytest

from punchlist.adapters.git.checkout import Checkout, Identity
from punchlist.errors import RepositoryError, UsageError


def find(start: Path) -> Checkout:
    return asyncio.run(Checkout.find(start))


def test_a_folder_outside_any_repository_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(RepositoryError, match="not a git repository") as refused:
        find(tmp_path)
    assert "git init" in refused.value.hint


def test_a_folder_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        find(tmp_path / "nowhere")


def test_a_bare_repository_is_refused(repo, tmp_path):
    repo.commit({"a.py": "a\n"})
    repo.git("clone", "--quiet", "--bare", ".", str(tmp_path / "bare"))
    with pytest.raises(RepositoryError, match="a bare repository"):
        find(tmp_path / "bare")


def test_the_inside_of_a_git_folder_is_refused(repo):
    repo.commit({"a.py": "a\n"})
    with pytest.raises(RepositoryError, match="inside git's own folder"):
        find(repo.root / ".git")


def test_a_repository_without_commits_is_refused_with_a_remedy(repo):
    with pytest.raises(RepositoryError, match="no commits yet") as refused:
        find(repo.root)
    assert "git commit" in refused.value.hint


def test_a_repository_whose_head_cannot_be_read_is_refused(repo):
    commit = repo.commit({"a.py": "a\n"})
    (repo.root / ".git/objects" / commit[:2] / commit[2:]).unlink()
    with pytest.raises(RepositoryError) as refused:
        find(repo.root)
    assert "git fsck" in refused.value.hint


def test_a_broken_config_is_said_in_gits_own_words(repo):
    repo.commit({"a.py": "a\n"})
    (repo.root / ".git/config").write_text("[core\n")
    with pytest.raises(RepositoryError, match="bad config"):
        find(repo.root)


def test_a_machine_without_git_is_told_to_install_it(repo, monkeypatch, tmp_path):
    repo.commit({"a.py": "a\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="not installed"):
        find(repo.root)


def test_a_git_that_is_too_old_is_refused(repo, monkeypatch, tmp_path):
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.25.1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    with pytest.raises(RepositoryError, match=r"too old: git version 2\.25\.1"):
        find(repo.root)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_a_repository_of_somebody_else_is_refused_until_git_is_told_to_trust_it(repo, isolated):
    repo.commit({"a.py": "a\n"})
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(RepositoryError, match="another user") as refused:
        find(repo.root)
    assert "safe.directory" in refused.value.hint
    (isolated / ".gitconfig").write_text(f"[safe]\n\tdirectory = {repo.root}\n")
    checkout = find(repo.root)
    assert asyncio.run(checkout.read_file(checkout.head, "a.py")) == b"a\n"


def test_a_subfolder_finds_the_root_above_it(repo):
    repo.commit({"deep/er/a.py": "a\n"})
    checkout = find(repo.root / "deep/er")
    assert checkout.root == repo.root
    assert checkout.resolve_paths(["a.py", "..", "../.."]) == ("deep/er/a.py", "deep", ".")


def test_a_path_outside_the_root_is_refused(repo):
    repo.commit({"a.py": "a\n"})
    with pytest.raises(UsageError, match="outside"):
        find(repo.root).resolve_paths(["../other"])


def test_a_linked_work_tree_shares_the_repository_but_has_its_own_head(repo, tmp_path):
    repo.commit({"a.py": "a\n"})
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    main, linked = find(repo.root), find(tmp_path / "linked")
    assert linked.root == tmp_path / "linked"
    assert linked.git_dir == main.git_dir
    assert asyncio.run(linked.current_branch()) == "side"


def test_a_detached_head_has_a_commit_and_no_branch(repo):
    commit = repo.commit({"a.py": "a\n"})
    repo.git("checkout", "--quiet", "--detach")
    checkout = find(repo.root)
    assert asyncio.run(checkout.current_branch()) == ""
    assert checkout.head == commit


def test_uncommitted_files_are_counted_by_kind(repo):
    repo.commit({"a.py": "a\n", "b.py": "b\n"})
    repo.write("a.py", "changed\n")
    repo.write("new file.py", "n\n")
    repo.write("b.py", "staged\n")
    repo.git("add", "b.py")
    checkout = find(repo.root)
    assert asyncio.run(checkout.count_uncommitted()) == 3
    assert asyncio.run(checkout.count_uncommitted(unstaged_only=True)) == 2


def test_show_gives_a_files_bytes_and_nothing_for_links_and_strangers(repo):
    repo.write('odd "na\nme".txt', b"\xff\r\n")
    (repo.root / "link").symlink_to("/etc/passwd")
    commit = repo.commit()
    checkout = find(repo.root)
    assert asyncio.run(checkout.read_file(commit, 'odd "na\nme".txt')) == b"\xff\r\n"
    assert asyncio.run(checkout.read_file(commit, "link")) is None
    assert asyncio.run(checkout.read_file(commit, "nowhere.py")) is None
    assert asyncio.run(checkout.read_file(commit, "*")) is None


def test_commits_are_by_the_user_or_by_punchlist_where_git_knows_nobody(repo, isolated):
    repo.commit({"a.py": "a\n"})
    assert find(repo.root).author == Identity(name="punchlist", email="punchlist@localhost")
    (isolated / ".gitconfig").write_text(
        "[user]\n\tname = Grace <x>\n\temail = grace@example.org\n"
    )
    assert find(repo.root).author == Identity(name="Grace x", email="grace@example.org")


@pytest.mark.parametrize("name", ["main", "master", "trunk"])
def test_the_main_line_is_found_by_its_usual_names(repo, name):
    repo.commit({"a.py": "a\n"})
    repo.git("branch", "--move", name)
    repo.git("checkout", "--quiet", "-b", "feature")
    assert asyncio.run(find(repo.root).find_main_branch()) == (name,)


def test_the_remotes_word_on_the_main_line_comes_first(repo, make_repo, tmp_path):
    repo.commit({"a.py": "a\n"})
    repo.git("branch", "--move", "stable")
    repo.git("branch", "main")
    clone = make_repo("clone", init=False)
    clone.git("clone", "--quiet", str(repo.root), ".")
    assert asyncio.run(find(clone.root).find_main_branch()) == ("origin/stable", "stable")
