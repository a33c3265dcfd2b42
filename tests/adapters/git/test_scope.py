"""What is under review is said exactly, and what is left out is said too."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.scope import resolve_change
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.patch.change import WHOLE, Change, LineRange, ScopeKind


@pytest.fixture
def scope(tmp_path):
    def look(start: Path, **asked) -> Change:
        async def inside() -> Change:
            return await resolve_change(
                await Workshop.open(await Checkout.find(start), tmp_path / "state"), **asked
            )

        found = asyncio.run(inside())
        assert msgspec.json.decode(msgspec.json.encode(found), type=Change) == found, (
            "a ledger must be able to carry it"
        )
        return found

    return look


@pytest.fixture
def branched(repo):
    """main with one commit, and a branch that changed, added, renamed and deleted files."""
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    repo.commit(
        {
            "edited.py": lines,
            "gone.py": "x\n",
            "old name.py": lines + "more\n",
            "same.py": "s\n",
            "bin": b"\0" * 50,
        }
    )
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.git("mv", "old name.py", "new name.py")
    repo.git("rm", "--quiet", "gone.py")
    edited = (
        lines.replace("line 3\n", "line three\nand more\n")
        .replace("line 10\n", "")
        .replace("line 20\n", "line twenty\n")
    )
    repo.commit(
        {
            "edited.py": edited,
            "added.py": "a\nb\n",
            "new name.py": lines.replace("line 5\n", "line five\n") + "more\n",
            "bin": b"\0" * 49 + b"\1",
        }
    )
    return repo


def test_a_branch_is_compared_with_where_it_left_the_main_line(branched, scope):
    base = branched.git("rev-parse", "main")
    branched.git("checkout", "--quiet", "main")
    branched.commit({"later.py": "of the main line\n"})
    branched.git("checkout", "--quiet", "feature")
    found = scope(branched.root)
    assert (found.kind, found.base, found.head, found.base_name) == (
        ScopeKind.BRANCH,
        base,
        branched.head,
        "main",
    )
    assert found.files == {
        "added.py": (WHOLE,),
        "bin": (WHOLE,),
        "edited.py": (LineRange(3, 4), LineRange(20, 20)),
        "new name.py": (LineRange(5, 5),),
    }
    assert found.notes == ()


def test_paths_limit_the_change_and_are_relative_to_where_the_user_stands(repo, scope):
    repo.commit({"a.py": "a\n", "sub/b.py": "b\n", "sub/deep/c.py": "c\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"a.py": "A\n", "sub/b.py": "B\n", "sub/deep/c.py": "C\n"})
    assert set(scope(repo.root, paths=["sub"]).files) == {"sub/b.py", "sub/deep/c.py"}
    assert set(scope(repo.root / "sub", paths=["b.py"]).files) == {"sub/b.py"}
    assert scope(repo.root / "sub", paths=[".."]).paths == ()
    found = scope(repo.root / "sub", kind=ScopeKind.ALL, paths=["deep"])
    assert (found.paths, found.covers("sub/deep/c.py", 1, 1), found.covers("a.py", 1, 1)) == (
        ("sub/deep",),
        True,
        False,
    )


def test_a_path_that_names_nothing_is_refused(branched, scope):
    with pytest.raises(UsageError, match=r"typo\.py"):
        scope(branched.root, paths=["typo.py"])


def test_the_main_line_itself_is_reviewed_as_a_whole_and_says_so(repo, scope):
    repo.commit({"a.py": "a\n"})
    found = scope(repo.root)
    assert (found.kind, found.base, found.head) == (ScopeKind.ALL, repo.head, repo.head)
    assert "everything is reviewed" in found.notes[0]


def test_a_branch_with_nothing_of_its_own_is_no_change_and_the_main_line_is_all_of_it(repo, scope):
    repo.commit({"a.py": "a\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    found = scope(repo.root)
    assert (found.kind, found.empty) == (ScopeKind.BRANCH, True)
    assert "nothing that main does not have" in found.notes[0]
    repo.git("checkout", "--quiet", "main")
    assert scope(repo.root).kind is ScopeKind.ALL
    repo.git("checkout", "--quiet", "feature")
    with pytest.raises(UsageError, match="no change to review"):
        scope(repo.root, base="main")


def test_work_on_main_that_is_not_pushed_is_the_branch(repo, make_repo, scope):
    repo.commit({"a.py": "a\n"})
    clone = make_repo("clone", init=False)
    clone.git("clone", "--quiet", str(repo.root), ".")
    clone.commit({"b.py": "b\n"})
    found = scope(clone.root)
    assert (found.kind, found.base_name, set(found.files)) == (
        ScopeKind.BRANCH,
        "origin/main",
        {"b.py"},
    )


def test_an_unknown_base_or_commit_is_refused_by_name(branched, scope):
    for asked in ({"base": "nope"}, {"commit": "nope"}, {"kind": ScopeKind.ALL, "base": "--all"}):
        with pytest.raises(UsageError, match="no such commit"):
            scope(branched.root, **asked)


def test_a_commit_is_compared_with_its_first_parent(branched, scope):
    base = branched.head
    branched.commit({"one.py": "1\n"})
    asked = branched.head
    branched.commit({"two.py": "2\n"})
    found = scope(branched.root, commit=asked)
    assert (found.kind, found.base, found.head, set(found.files)) == (
        ScopeKind.COMMIT,
        base,
        asked,
        {"one.py"},
    )


def test_the_first_commit_is_compared_with_nothing(repo, scope, tmp_path):
    commit = repo.commit({"a.py": "1\n2\n"})
    found = scope(repo.root, commit=commit)
    assert found.files == {"a.py": (WHOLE,)}
    assert found.base != commit
    assert found == scope(repo.root, commit=commit), "the same question has the same answer"


def test_staged_work_is_a_commit_that_only_the_workshop_has(repo, scope):
    base = repo.commit({"a.py": "1\n2\n3\n", "b.py": "b\n"})
    repo.write("a.py", "1\ntwo\n3\n")
    repo.git("add", "a.py")
    repo.write("a.py", "1\ntwo\n3\nnot staged\n")
    before = (repo.root / ".git/index").read_bytes(), repo.git("count-objects", "-v")
    found = scope(repo.root, kind=ScopeKind.STAGED)
    assert (found.base, found.base_name, found.files) == (
        base,
        "HEAD",
        {"a.py": (LineRange(2, 2),)},
    )
    assert found.notes == ("work that is not staged is left out: 1 file",)
    assert ((repo.root / ".git/index").read_bytes(), repo.git("count-objects", "-v")) == before
    assert found.head == scope(repo.root, kind=ScopeKind.STAGED).head


def test_nothing_staged_is_refused(repo, scope):
    repo.commit({"a.py": "a\n"})
    repo.write("a.py", "changed\n")
    with pytest.raises(UsageError, match="nothing is staged"):
        scope(repo.root, kind=ScopeKind.STAGED)


def test_an_index_in_the_middle_of_a_merge_is_refused(branched, scope):
    branched.git("checkout", "--quiet", "main")
    branched.commit({"added.py": "other\n"})
    os.system(f"git -C {branched.root} merge --quiet feature >/dev/null 2>&1")
    with pytest.raises(RepositoryError, match="index") as refused:
        scope(branched.root, kind=ScopeKind.STAGED)
    assert "merge" in refused.value.hint


def test_uncommitted_work_is_left_out_and_counted(branched, scope):
    branched.write("edited.py", "dirty\n")
    branched.write("untracked.py", "u\n")
    assert "uncommitted work is left out: 2 files" in scope(branched.root).notes


def test_a_detached_head_is_reviewed_against_the_main_line_and_said(branched, scope):
    branched.git("checkout", "--quiet", "--detach")
    found = scope(branched.root)
    assert found.kind is ScopeKind.BRANCH
    assert f"HEAD is detached at {branched.head[:10]}" in found.notes


def test_a_shallow_clone_that_lost_the_base_is_reviewed_as_a_whole_with_the_remedy(
    branched, make_repo, scope
):
    branched.git("checkout", "--quiet", "main")
    branched.commit({"later.py": "l\n"})
    clone = make_repo("shallow", init=False)
    clone.git("clone", "--quiet", "--depth=1", "--no-single-branch", f"file://{branched.root}", ".")
    clone.git("checkout", "--quiet", "feature")
    found = scope(clone.root)
    assert found.kind is ScopeKind.ALL
    assert any("git fetch --unshallow" in note for note in found.notes)
    with pytest.raises(UsageError) as refused:
        scope(clone.root, base="main")
    assert refused.value.hint == "git fetch --unshallow"
    assert any("not here" in note for note in scope(clone.root, commit="HEAD").notes)
    (clone.root / "edited.py").write_text("e\n")
    edited = scope(clone.root, committed=False)
    assert edited.on_disk
    assert edited.kind is ScopeKind.ALL, "an edit does not hide the branch's own commits"


def test_what_a_review_does_not_look_into_is_said(repo, make_repo, scope):
    other = make_repo("other")
    other.commit({"s.py": "s\n"})
    repo.git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(other.root),
        "vendor/sub",
    )
    (repo.root / "link.py").symlink_to("a.py")
    repo.commit({"a.py": "a\n", os.fsdecode(b"caf\xe9\n.py"): "x\n"})
    notes = "\n".join(scope(repo.root, kind=ScopeKind.ALL).notes).splitlines()
    assert "submodules are not entered: vendor/sub" in notes
    assert "links are not followed: link.py" in notes
    assert "1 file with names that are not UTF-8 left out: caf\\xe9\\n.py" in notes


def test_odd_names_keep_their_lines_and_links_are_not_files(repo, scope):
    names = ["new\nline.py", 'quo"te.py', "tab\t.py", "diff --git a b", "@@ -1 +1 @@", "ünï.py"]
    repo.commit(dict.fromkeys(names, "1\n2\n3\n"))
    repo.git("checkout", "--quiet", "-b", "feature")
    (repo.root / "link.py").symlink_to(names[1])
    repo.commit(
        {
            name: "1\n" * position + "@@ -1 +1,9 @@\ndiff --git a/x b/x\n"
            for position, name in enumerate(names, start=1)
        }
    )
    found = scope(repo.root).files
    assert set(found) == set(names)
    assert {name: lines[-1].last for name, lines in found.items()} == {
        name: position + 2 for position, name in enumerate(names, start=1)
    }


def test_a_file_that_was_a_link_counts_as_a_whole_and_a_mode_alone_has_no_lines(repo, scope):
    (repo.root / "was_link.py").symlink_to("a.py")
    repo.commit({"a.py": "a\n", "z.py": "z\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    (repo.root / "was_link.py").unlink()
    (repo.root / "a.py").chmod(0o755)
    repo.commit({"was_link.py": "x\n", "z.py": "Z\n"})
    assert scope(repo.root).files == {
        "a.py": (),
        "was_link.py": (WHOLE,),
        "z.py": (LineRange(1, 1),),
    }


def test_the_reviewed_code_cannot_hide_its_lines_by_attributes(repo, scope):
    repo.commit({"a.py": "a\nb\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit({"a.py": "a\nB\n", ".gitattributes": "*.py -diff\n"})
    assert scope(repo.root).files["a.py"] == (LineRange(2, 2),)


def test_the_base_of_a_linked_work_tree_is_its_own(branched, scope, tmp_path):
    branched.git("checkout", "--quiet", "main")
    branched.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "feature")
    assert scope(branched.root).kind is ScopeKind.ALL
    assert scope(tmp_path / "linked").kind is ScopeKind.BRANCH


def test_lines_keep_to_their_files_beside_deleted_retyped_and_oddly_named_ones(repo, scope):
    repo.commit({"a.py": "a\nb\n", "b.py": "gone\n", "c.py": "c\n", "z.py": "z\n"})
    repo.git("checkout", "--quiet", "-b", "work")
    (repo.root / "c.py").unlink()
    (repo.root / "c.py").symlink_to("a.py")
    repo.git("rm", "--quiet", "b.py")
    repo.commit({"a.py": "a\nB\n", "d \n.py": "new\n", "z.py": "z\ny\n"})
    found = scope(repo.root)
    assert found.deleted == ("b.py",)
    assert found.files["a.py"] == (LineRange(2, 2),)
    assert found.files["d \n.py"] == (WHOLE,)
    assert found.files["z.py"] == (LineRange(2, 2),)
    assert "c.py" not in found.files


def test_a_branch_whose_commits_change_nothing_has_no_lines(repo, scope):
    repo.commit({"a.py": "a\n"})
    repo.git("checkout", "--quiet", "-b", "work")
    repo.git("commit", "--quiet", "--allow-empty", "--message=nothing")
    assert scope(repo.root).files == {}
