"""What was done to a lent tree is read from the tree, whatever anybody staged, committed or says."""

import asyncio
import os
import py_compile
import subprocess

import pytest

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.tree_changes import LARGEST
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import Patch


@pytest.fixture
def trees(repo, tmp_path):
    repo.commit(
        {
            "a.py": "one\ntwo\nthree\n",
            "b.py": "b\n",
            "c.bin": b"\0\1",
            "run.sh": "#!/bin/sh\n",
            ".gitignore": "*.log\n",
        }
    )

    async def opened():
        return WorkTrees(await Workshop.open(await Checkout.find(repo.root), tmp_path / "home"))

    found = asyncio.run(opened())
    return found, repo.git("rev-parse", "HEAD")


def taken(trees, work, patches=()) -> Patch:
    lent, commit = trees

    async def done():
        async with lent.open_tree(commit, patches) as tree:
            work(tree.root)
            return await lent.collect_changes(tree)

    return asyncio.run(done())


def git(root, *arguments):
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    names = ["-c", "user.name=x", "-c", "user.email=x@x"]
    return subprocess.run(
        ["git", *names, *arguments], cwd=root, check=True, capture_output=True, env=env
    )


def test_nothing_done_is_no_patch(trees):
    assert not taken(trees, lambda root: None)


def test_an_edit_is_the_lines_it_changes(trees):
    patch = taken(trees, lambda root: (root / "a.py").write_text("one\n2\nthree\n"))
    assert patch.splices == (Splice("a.py", 4, 8, "2\n"),)


def test_an_edit_of_the_same_size_in_the_same_second_is_seen(trees):
    for _ in range(5):
        assert taken(trees, lambda root: (root / "a.py").write_text("one\nTWO\nthree\n")).paths == (
            "a.py",
        )


def test_new_deleted_renamed_binary_and_mode_changed_files_are_all_there(trees):
    def work(root):
        (root / "new").mkdir()
        (root / "new/d.py").write_text("d\n")
        (root / "b.py").rename(root / "e.py")
        (root / "c.bin").write_bytes(b"\0\2")
        (root / "run.sh").chmod(0o755)

    files = {change.path: change for change in taken(trees, work).files}
    assert files.keys() == {"new/d.py", "b.py", "e.py", "c.bin", "run.sh"}
    assert files["b.py"].content is None
    assert files["run.sh"].mode == "100755"
    assert files["c.bin"].content == "\0\2"


def test_what_was_staged_committed_or_hidden_from_git_is_seen_all_the_same(trees):
    def work(root):
        (root / "a.py").write_text("ONE\ntwo\nthree\n")
        git(root, "add", "a.py")
        git(root, "commit", "-qm", "mine")
        (root / "b.py").write_text("B\n")
        git(root, "update-index", "--assume-unchanged", "b.py")

    assert taken(trees, work).paths == ("a.py", "b.py")


def test_what_git_ignores_is_not_part_of_it(trees):
    assert not taken(trees, lambda root: (root / "noise.log").write_text("x"))


def test_bytecode_that_running_the_code_leaves_behind_is_not_part_of_it(trees):
    """Nor what somebody made: Python takes it for the source, whatever that says."""

    def work(root):
        (root / "a.py").write_text("one = 1\n")
        py_compile.compile(
            root / "a.py", invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
        )
        (root / "b.pyc").write_bytes(b"x")

    assert taken(trees, work).paths == ("a.py",)


def test_what_was_laid_counts_as_done(trees):
    laid = Patch((Splice("a.py", 0, 3, "ONE"),))
    patch = taken(trees, lambda root: (root / "b.py").write_text("B\n"), [laid])
    assert patch.paths == ("a.py", "b.py")


def test_a_kept_tree_is_found_as_it_was_left_and_gone_when_the_work_is_done(trees):
    lent, commit = trees

    class KilledError(Exception):
        pass

    async def killed():
        async with lent.resume_tree(commit, "run/1") as tree:
            (tree.root / "a.py").write_text("paid for\n")
            raise KilledError

    async def again(*, fresh):
        async with lent.resume_tree(commit, "run/1", fresh=fresh) as tree:
            return (tree.root / "a.py").read_text(), tree.root

    with pytest.raises(KilledError):
        asyncio.run(killed())
    text, root = asyncio.run(again(fresh=False))
    assert text == "paid for\n"
    assert not root.exists()
    with pytest.raises(KilledError):
        asyncio.run(killed())
    assert asyncio.run(again(fresh=True))[0] == "one\ntwo\nthree\n"


@pytest.mark.parametrize("inside", ["nothing", "a link", "a file", "a repository", "a commit"])
def test_a_folder_that_was_made_a_repository_is_work_like_any_other(trees, inside):
    def work(root):
        (root / "sub/deep").mkdir(parents=True)
        (root / "sub/deep/new.py").write_text("new\n")
        (root / "a.py").write_text("one\n2\nthree\n")
        match inside:
            case "nothing":
                (root / "sub/.git").mkdir()
            case "a link":
                (root / "sub/.git").symlink_to("/nonexistent")
            case "a file":
                (root / "sub/.git").write_text("gitdir: /nonexistent\n")
            case _:
                git(root / "sub", "init", "--quiet")
        if inside == "a commit":
            git(root / "sub", "add", ".")
            git(root / "sub", "commit", "--quiet", "-m", "hidden")

    assert set(taken(trees, work).paths) == {"a.py", "sub/deep/new.py"}


def test_more_than_a_fix_can_be_is_refused_and_not_read(trees):
    def work(root):
        for number in range(3):
            with (root / f"big{number}.txt").open("wb") as file:
                file.truncate(LARGEST // 2)

    with pytest.raises(RepositoryError, match="96 MB of files were written; at most 64 MB"):
        taken(trees, work)


def test_large_files_that_git_ignores_are_no_part_of_a_fix(trees):
    def work(root):
        (root / "b.py").write_text("c\n")
        with (root / "build.log").open("wb") as file:
            file.truncate(2 * LARGEST)

    assert taken(trees, work).paths == ("b.py",)
