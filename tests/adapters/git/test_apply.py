"""What a run made comes home whole or not at all, and never over the user's own work."""

import asyncio

import pytest
from joinery import BRANCH, edit, state, whole

from punchlist.errors import RepositoryError


def test_apply_moves_an_unchanged_checkout_forward(repo, bench):
    parent = repo.commit({"a.py": "abc\n", "other.py": "o\n"})
    desk = bench(repo)
    made = desk.chain(parent, edit("a.py", 0, 1, "x"), whole(("new.py", "n\n")))
    repo.write("other.py", "my unrelated work\n")
    applied = desk.apply()
    assert (applied.how, applied.commit, applied.files, repo.head) == (
        "fast-forward",
        made[-1],
        ("a.py", "new.py"),
        made[-1],
    )
    assert (repo.root / "a.py").read_text() == "xbc\n"
    assert repo.git("status", "--porcelain") == " M other.py"
    assert desk.apply().how == "already"


def test_apply_merges_with_what_was_committed_since(repo, bench):
    parent = repo.commit({"a.py": "abc\n", "b.py": "b\n"})
    desk = bench(repo)
    made = desk.chain(parent, edit("a.py", 0, 1, "x"))
    since = repo.commit({"b.py": "since\n"})
    assert desk.apply().how == "merge"
    assert repo.git("rev-parse", "HEAD^1", "HEAD^2").split() == [since, made[-1]]
    assert repo.git("status", "--porcelain") == ""


def test_apply_as_one_commit(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    desk.chain(parent, edit("a.py", 0, 1, "x", "first"), edit("a.py", 2, 3, "z", "second"))
    assert desk.apply(squash=True).how == "squash"
    assert repo.git("rev-parse", "HEAD^") == parent
    assert repo.git("log", "-1", "--format=%B") == f"Apply {BRANCH}\n\n* first\n* second\n"
    assert (repo.root / "a.py").read_text() == "xbz\n"


@pytest.mark.parametrize("kind", ["edited", "staged", "untracked", "ignored"])
def test_apply_refuses_to_mix_with_uncommitted_work_and_names_the_files(repo, bench, kind):
    parent = repo.commit({"a.py": "abc\n", ".gitignore": "build/\n"})
    desk = bench(repo)
    path = {"edited": "a.py", "staged": "a.py", "untracked": "new/n.py", "ignored": "build/out.py"}[
        kind
    ]
    desk.chain(parent, whole((path, "from the branch\n")))
    repo.write(path, "mine\n")
    if kind == "staged":
        repo.git("add", path)
    before = state(repo.root)
    with pytest.raises(RepositoryError, match=path):
        desk.apply()
    assert state(repo.root) == before


@pytest.fixture
def conflicting(repo, bench):
    """A run's fix of a line that the user has changed since."""
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    desk.chain(parent, edit("a.py", 0, 1, "x"))
    repo.commit({"a.py": "mine\n"})
    return desk


def test_apply_with_a_conflict_changes_nothing_and_names_the_files(repo, conflicting):
    before = state(repo.root)
    for squash in (False, True):
        with pytest.raises(RepositoryError, match=r"conflicts.*a\.py"):
            conflicting.apply(squash=squash)
    assert state(repo.root) == before


def test_a_merge_that_failed_in_a_tree_is_not_found_there_by_the_next_user(repo, conflicting):
    with pytest.raises(RepositoryError, match="conflicts"):
        conflicting.apply()

    async def under_way():
        async with conflicting.trees.open_tree(repo.git("rev-parse", "HEAD^")) as tree:
            return (
                await conflicting.trees.open_git(tree).run(
                    "rev-parse", "--verify", "--quiet", "MERGE_HEAD"
                )
            ).ok

    assert not asyncio.run(under_way())


def test_discard_of_nothing_says_so(repo, bench):
    repo.commit({"a.py": "abc\n"})
    assert bench(repo).discard() is False
