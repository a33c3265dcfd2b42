"""A run's commits are made all or none, once, and are shown to the user's repository as one branch and nothing else."""

import asyncio
import os
import subprocess
import sys
import textwrap

import pytest
from joinery import BRANCH, Bench, edit, state, whole

from punchlist.adapters.git.hooks import Hooks
from punchlist.adapters.git.scope import resolve_change
from punchlist.adapters.sandbox.support import sandbox_kind
from punchlist.errors import RepositoryError
from punchlist.model.patch.change import ScopeKind
from punchlist.ports.repository import Heard
from punchlist.ports.tree import Pristine


def test_each_draft_is_one_commit_with_exactly_its_own_edit(repo, bench):
    parent = repo.commit({"a.py": "one two three\n", "b.py": "b\n"})
    desk = bench(repo)
    made = desk.chain(
        parent,
        edit("a.py", 8, 13, "3"),
        edit("a.py", 0, 3, "1"),
        whole(("b.py", None), ("c d.py", "\xff", "100755")),
    )
    assert [desk.git("show", f"{commit}:a.py") for commit in made] == [
        "one two 3",
        "1 two 3",
        "1 two 3",
    ]
    assert (
        desk.git("ls-tree", "-r", "--format=%(objectmode) %(path)", made[-1])
        == "100644 a.py\n100755 c d.py"
    )
    assert desk.git("log", "--format=%H", "--reverse", f"{parent}..{BRANCH}").split() == list(made)
    desk.git("fsck", "--strict", "--no-dangling")


def test_the_same_action_again_returns_the_same_commits_and_makes_nothing(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    made = desk.chain(parent, edit("a.py", 0, 1, "x"), edit("a.py", 2, 3, "z"))
    assert desk.chain(parent, edit("a.py", 0, 1, "x"), edit("a.py", 2, 3, "z")) == made
    more = desk.chain(made[-1], edit("a.py", 1, 2, "y"), action="r1/3/commit")
    assert desk.chain(parent, edit("a.py", 0, 1, "x"), edit("a.py", 2, 3, "z")) == made
    assert desk.git("rev-list", "--count", f"{parent}..{BRANCH}") == "3"
    assert desk.git("show", f"{more[0]}:a.py") == "xyz"


def test_commits_have_the_same_names_on_every_machine(repo, bench, tmp_path):
    parent = repo.commit({"a.py": "abc\n"})
    draft = edit("a.py", 0, 1, "x")
    assert bench(repo).chain(parent, draft) == Bench(repo.root, tmp_path / "another").chain(
        parent, draft
    )


def test_the_action_is_a_trailer_among_the_others(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    desk.chain(
        parent,
        edit(
            "a.py",
            0,
            1,
            "x",
            "Fix: a thing\n\nBecause: it was\nbroken.\n\nPunchlist-Run: r1\nPunchlist-Items: 1, 2",
        ),
    )
    assert desk.git("log", "-1", "--format=%(trailers:only)", BRANCH).split("\n")[:3] == [
        "Punchlist-Run: r1",
        "Punchlist-Items: 1, 2",
        "Punchlist-Action: r1/2/commit",
    ]


def test_commits_somebody_else_made_on_the_branch_are_not_built_upon(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    desk.chain(parent, edit("a.py", 0, 1, "x"))
    with pytest.raises(RepositoryError, match="did not make"):
        desk.chain(parent, edit("a.py", 1, 2, "y"), action="another")
    with pytest.raises(RepositoryError, match="made 1 commits"):
        desk.chain(parent, edit("a.py", 0, 1, "x"), edit("a.py", 1, 2, "y"))


@pytest.mark.parametrize(
    "bad",
    [
        edit("nowhere", 0, 0, "x"),
        edit("a.py", 9, 9, "x"),
        edit("a.py", 0, 1, "twice"),
        whole((".git/config", "x")),
        whole(("../x", "x")),
    ],
)
def test_one_draft_that_does_not_fit_means_no_commit_at_all(repo, bench, bad):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    with pytest.raises(RepositoryError):
        desk.chain(parent, edit("a.py", 0, 1, "x"), bad)
    assert desk.git("for-each-ref") == ""


def test_odd_names_and_bytes_are_committed_as_they_are(repo, bench):
    names = ["new\nline.py", 'quo"te.py', "back\\slash.py", "ünï.py", " lead", "-dash"]
    raw = b"\xff\r\n\xef\xbb\xbf\0x"
    parent = repo.commit(dict.fromkeys(names, raw))
    desk = bench(repo)
    length = len(raw.decode("utf-8", "surrogateescape"))
    made = desk.chain(parent, *(edit(name, length, length, "!") for name in names))
    assert desk.git("ls-tree", "-r", "-z", "--name-only", made[-1]).split("\0")[:-1] == sorted(
        names, key=os.fsencode
    )
    asyncio.run(desk.workshop.list_tree(made[-1]))
    blobs = {entry.blob for entry in asyncio.run(desk.workshop.list_tree(made[-1])).values()}
    assert asyncio.run(desk.workshop.read_blobs(list(blobs))) == [raw + b"!"]


def test_a_file_may_make_room_for_a_folder_of_its_name(repo, bench):
    parent = repo.commit({"a": "abc\n"})
    desk = bench(repo)
    made = desk.chain(parent, whole(("a/b.py", "b\n"), ("a", None)))
    assert desk.git("ls-tree", "-r", "--name-only", made[-1]) == "a/b.py"


def test_a_killed_commit_leaves_nothing_or_everything(repo, bench, tmp_path):
    parent = repo.commit({"a.py": "x" * 4000})
    program = f"""
        import asyncio, pathlib
        from punchlist.adapters.git.checkout import Checkout
        from punchlist.adapters.git.repository import GitRepository
        from punchlist.adapters.git.workshop import Workshop
        from punchlist.adapters.git.worktrees import WorkTrees
        from punchlist.model.finding.finding import Splice
        from punchlist.model.patch.patch import Patch
        from punchlist.ports.repository import Draft
        async def main():
            workshop = await Workshop.open(await Checkout.find(pathlib.Path({str(repo.root)!r})), pathlib.Path({str(tmp_path / "state")!r}))
            drafts = [Draft(f"fix {{i}}", Patch(splices=(Splice("a.py", 2 * i, 2 * i + 1, "yy"),))) for i in range(500)]
            print("go", flush=True)
            await GitRepository(workshop, WorkTrees(workshop)).commit_chain({BRANCH!r}, {parent!r}, drafts, "r1/2/commit")
        asyncio.run(main())
    """
    drafts = [edit("a.py", 2 * i, 2 * i + 1, "yy", f"fix {i}") for i in range(500)]
    expected = Bench(repo.root, tmp_path / "calm").chain(parent, *drafts)
    for delay in (0.02, 0.05, 0.1):
        child = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": "src"},
        )
        child.stdout.readline()
        try:
            child.wait(delay)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        desk = bench(repo)
        assert desk.git("rev-list", "--count", "--all") in {"0", "501"}
    assert bench(repo).chain(parent, *drafts) == expected


def test_publishing_changes_nothing_in_the_users_repository_but_the_branch(
    repo, bench, tmp_path, isolated
):
    """The whole path: scope, trees, commits, publishing, with a checkout that has work of every kind lying around."""
    trap = tmp_path / "trap"
    parent = repo.commit({"a.py": "abc\n", "b.py": "b\n"})
    repo.git("tag", "v1")
    for name in (
        "post-checkout",
        "reference-transaction",
        "post-merge",
        "pre-auto-gc",
        "post-index-change",
        "post-commit",
    ):
        repo.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch {trap}\n", mode=0o755)
    repo.write("b.py", "stashed\n")
    repo.git("stash", "--quiet")
    repo.write("a.py", "staged\n")
    repo.git("add", "a.py")
    repo.write("a.py", "dirty\n")
    repo.write("untracked.py", "u\n")
    os.utime(repo.root / "b.py", (1, 1))  # git would like to write that down in the index
    trap.unlink(missing_ok=True)
    before = state(repo.root)
    desk = bench(repo)
    for kind in (ScopeKind.ALL, ScopeKind.STAGED, ScopeKind.COMMIT):
        asyncio.run(resolve_change(desk.workshop, kind=kind))
    desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    desk.publish()
    assert state(repo.root) == before
    assert not trap.exists()
    assert repo.git("show", f"{BRANCH}:a.py") == "xbc"
    repo.git("fsck", "--strict", "--no-dangling")
    desk.discard()
    assert state(repo.root) == before
    assert repo.git("for-each-ref", "refs/heads") == repo.git("for-each-ref", "refs/heads/main")


def test_a_published_branch_grows_with_the_run(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    first = desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    second = desk.chain(first[-1], edit("a.py", 1, 2, "y"), action="r1/3/commit")
    desk.publish()
    assert repo.git("rev-parse", BRANCH) == second[-1]


def test_a_branch_the_user_added_to_is_not_overwritten(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    first = desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    repo.git("checkout", "--quiet", BRANCH)
    mine = repo.commit({"mine.py": "m\n"})
    repo.git("checkout", "--quiet", "main")
    desk.chain(first[-1], edit("a.py", 1, 2, "y"), action="r1/3/commit")
    with pytest.raises(RepositoryError, match="commits of its own") as refused:
        desk.publish()
    assert "git branch -m" in refused.value.hint
    assert repo.git("rev-parse", BRANCH) == mine
    with pytest.raises(RepositoryError, match="commits of its own"):
        desk.discard()
    assert desk.discard(force=True)
    assert repo.git("for-each-ref", "refs/heads/punchlist") == ""


def test_a_branch_that_is_checked_out_is_not_moved_under_the_user(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    first = desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    repo.git("checkout", "--quiet", BRANCH)
    desk.chain(first[-1], edit("a.py", 1, 2, "y"), action="r1/3/commit")
    for act in (desk.publish, desk.discard):
        with pytest.raises(RepositoryError, match="checked out") as refused:
            act()
        assert "switch" in refused.value.hint
    assert repo.git("status", "--porcelain") == ""


def test_what_could_not_be_published_comes_home_with_apply_all_the_same(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    (first,) = desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    repo.git("switch", "--quiet", BRANCH)
    desk.chain(first, edit("a.py", 1, 2, "y"), action="r1/3/commit")
    with pytest.raises(RepositoryError, match="checked out"):
        desk.publish()
    repo.git("switch", "--quiet", "main")
    assert desk.apply().how == "fast-forward"
    assert (repo.root / "a.py").read_text() == "xyc\n"


def test_only_branches_of_its_own_are_published_or_discarded(repo, bench):
    repo.commit({"a.py": "abc\n"})
    desk = bench(repo)
    with pytest.raises(RepositoryError):
        desk.publish("main")
    with pytest.raises(RepositoryError):
        asyncio.run(desk.homecoming.discard("main"))
    with pytest.raises(RepositoryError, match="no such branch"):
        desk.publish("punchlist/nothing")


def test_a_shallow_clone_can_be_worked_in_and_stays_shallow(repo, make_repo, bench):
    repo.commit({"a.py": "abc\n"})
    repo.commit({"a.py": "abcd\n"})
    clone = make_repo("shallow", init=False)
    clone.git("clone", "--quiet", "--depth=1", f"file://{repo.root}", ".")
    before = state(clone.root)
    desk = bench(clone)
    desk.chain(clone.head, edit("a.py", 0, 1, "x"))
    desk.publish()
    assert state(clone.root) == before
    assert clone.git("rev-list", "--count", BRANCH) == "2"


def test_work_in_a_linked_work_tree_is_published_to_the_shared_repository(repo, bench, tmp_path):
    parent = repo.commit({"a.py": "abc\n"})
    repo.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    desk = Bench(tmp_path / "linked", tmp_path / "state")
    desk.chain(parent, edit("a.py", 0, 1, "x"))
    desk.publish()
    assert repo.git("show", f"{BRANCH}:a.py") == "xbc"
    assert desk.apply().how == "fast-forward"
    assert (tmp_path / "linked/a.py").read_text() == "xbc\n"
    assert (repo.root / "a.py").read_text() == "abc\n"


def test_a_refusing_hook_is_heard_over_the_patched_and_staged_tree(repo, bench):
    parent = repo.commit({"a.py": "abc\n", "b.py": "b\n"})
    repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\ngit diff --cached --name-status\ngrep -q x a.py && echo 'no x, please' >&2 && exit 3\nexit 0\n",
        mode=0o755,
    )
    desk = bench(repo)
    refusal = desk.hook(
        parent, edit("a.py", 0, 1, "x").patch, whole(("b.py", None), ("c.py", "c\n")).patch
    )
    assert refusal.startswith("pre-commit: exit code 3")
    assert "M\ta.py\nD\tb.py\nA\tc.py" in refusal
    assert "no x, please" in refusal
    assert desk.hook(parent, edit("a.py", 0, 1, "y").patch) == ""


def test_a_hook_that_is_not_executable_or_not_there_agrees(repo, bench):
    parent = repo.commit({"a.py": "abc\n"})
    assert bench(repo).hook(parent) == ""
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n", mode=0o644)
    assert bench(repo).hook(parent) == ""


def test_hooks_that_are_part_of_the_reviewed_code_are_not_run_and_said(
    repo, bench, tmp_path, isolated
):
    repo.write(".githooks/pre-commit", "#!/bin/sh\nexit 1\n", mode=0o755)
    parent = repo.commit()
    repo.git("config", "core.hooksPath", ".githooks")
    desk = bench(repo)
    assert desk.hook(parent) == ""
    assert ".githooks are not run" in asyncio.run(
        Hooks(desk.workshop, desk.trees).explain_skipped()
    )
    repo.git("config", "--unset", "core.hooksPath")
    mine = isolated / "hooks/pre-commit"
    mine.parent.mkdir()
    mine.write_text("#!/bin/sh\necho mine; exit 1\n")
    mine.chmod(0o755)
    (isolated / ".gitconfig").write_text("[core]\n\thooksPath = ~/hooks\n")
    desk = bench(repo)
    assert "mine" in desk.hook(parent)
    assert asyncio.run(Hooks(desk.workshop, desk.trees).explain_skipped()) == ""


PRE_COMMIT = """#!/bin/sh
# as the pre-commit framework does: runs what a file of the tree says, and refuses if that file is not staged as it is
git diff --quiet -- settings.yaml || exit 9
git diff --cached --name-status; git write-tree > /dev/null || exit 8
exec sh -c "$(cat settings.yaml)"
"""


def hooked(repo):
    """A base with a hook that is steered by a file, and a branch that changes this file; returns both commits."""
    base = repo.commit({"settings.yaml": "echo as the base wants; exit 1", "a.py": "abc\n"})
    repo.write(".git/hooks/pre-commit", PRE_COMMIT, mode=0o755)
    repo.write("settings.yaml", "echo as the branch wants; exit 1")
    repo.git("commit", "--quiet", "--all", "--no-verify", "--message", "steered")
    return base, repo.head


def test_a_hook_is_steered_by_the_base_and_sees_nothing_staged_but_the_fixes(repo, bench):
    base, head = hooked(repo)
    pristine = Pristine(origin=base, alone=("settings.yaml",))
    assert bench(repo).hook(head, edit("a.py", 0, 1, "x").patch, pristine=pristine) == (
        "pre-commit: exit code 1\nM\ta.py\nas the base wants"
    )


def test_a_hook_that_must_not_run_is_not_run_and_known_of(repo, bench):
    _, head = hooked(repo)
    repository = bench(repo).repository
    assert asyncio.run(repository.run_hook("pre-commit", head, (), pristine=None)) == Heard(
        unheard=True
    )
    assert asyncio.run(repository.run_hook("commit-msg", head, (), pristine=None)) == Heard()


@pytest.mark.skipif(sandbox_kind() == "none", reason="there are no walls without a sandbox")
def test_a_hook_writes_only_into_its_tree_and_sees_no_network_and_no_keys(
    repo, bench, isolated, tmp_path
):
    base = repo.commit({"a.py": "abc\n"})
    repo.git("config", "http.extraheader", "a token")
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh/id").write_text("a key")
    reached = [
        tmp_path / "reached",
        repo.root / "reached",
        repo.root / ".git/reached",
        isolated / "reached",
    ]
    tries = "".join(f"touch {place}\n" for place in reached)
    looks = f"cat {repo.root}/.git/config {isolated}/.ssh/id | grep -q a.[kt] && echo read it\n"
    net = "tail -n +3 /proc/net/dev | grep -v lo: && echo online\n"
    branch = "git branch -f punchlist/r1 HEAD && echo moved a branch\n"
    repo.write(
        ".git/hooks/pre-commit",
        f"#!/bin/sh\n{tries}{looks}{net}{branch}touch here && echo home\nexit 1\n",
        mode=0o755,
    )
    desk = bench(repo)
    said = desk.hook(base, edit("a.py", 0, 1, "x").patch)
    assert "home" in said
    assert not [word for word in ("read it", "online", "moved a branch") if f"\n{word}" in said], (
        said
    )
    assert not [place for place in reached if place.exists()]
    assert desk.git("for-each-ref", "refs/heads") == ""


@pytest.mark.serial
def test_three_thousand_commits_take_seconds_and_a_large_tree_is_reused_quickly(repo, bench):
    import time

    parent = repo.commit({f"d{n // 100}/f{n}.py": f"x = {n}\n" * 20 for n in range(10_000)})
    desk = bench(repo)
    started = time.monotonic()
    made = desk.chain(
        parent, *(edit(f"d{n // 100}/f{n}.py", 0, 1, "yy", f"fix {n}") for n in range(3000))
    )
    assert len(set(made)) == 3000
    assert time.monotonic() - started < 15

    async def reuse():
        async with desk.trees.open_tree(parent):
            pass
        async with desk.trees.open_tree(parent):
            pass
        started = time.monotonic()
        async with desk.trees.open_tree(parent, [edit("d0/f1.py", 0, 1, "yy").patch]):
            return time.monotonic() - started

    assert asyncio.run(reuse()) < 1
