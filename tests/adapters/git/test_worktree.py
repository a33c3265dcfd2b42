"""A lent tree holds exactly a commit's files with the patches on them, whatever the repository or the last user did."""

import asyncio
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTree, WorkTrees
from punchlist.errors import RepositoryError
from punchlist.model.finding.finding import Splice
from punchlist.model.patch.patch import FileChange, Patch
from punchlist.ports.tree import Pristine


async def open_trees(root: Path, home: Path) -> WorkTrees:
    return WorkTrees(await Workshop.open(await Checkout.find(root), home))


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def trees(repo, home):
    """The trees of the repository; opened on first use, when there is a commit."""

    class Lazy:
        def look(self, commit, patches=(), see=content, pristine=None):
            async def inside():
                opened = await open_trees(repo.root, home)
                async with opened.open_tree(commit, patches, pristine=pristine) as tree:
                    return see(tree)

            return asyncio.run(inside())

    return Lazy()


def content(tree: WorkTree) -> dict[str, bytes]:
    """Every file on disk but git's own, by path; links by where they point."""
    found = {}
    for full in tree.root.rglob("*"):
        path = full.relative_to(tree.root)
        if path.parts[0] != ".git" and (full.is_symlink() or not full.is_dir()):
            found[str(path)] = (
                os.fsencode(full.readlink()) if full.is_symlink() else full.read_bytes()
            )
    return found


def whole(path, text, mode="100644"):
    return Patch(files=(FileChange(path, text, mode),))


def edit(path, start, end, text):
    return Patch(splices=(Splice(path, start, end, text),))


def test_a_tree_is_the_commit_and_not_the_checkout(repo, trees):
    old = repo.commit({"a.py": "old\n"})
    repo.commit({"a.py": "new\n", "b.py": "b\n"})
    repo.write("a.py", "uncommitted\n")
    assert trees.look(old, see=content) == {"a.py": b"old\n"}
    assert (repo.root / "a.py").read_text() == "uncommitted\n"


def test_splices_of_several_patches_combine_in_any_order(repo, trees):
    commit = repo.commit({"a.py": "one two three\n"})
    patches = [edit("a.py", 8, 13, "3"), edit("a.py", 0, 3, "1")]
    assert trees.look(commit, patches, lambda tree: tree.text("a.py")) == "1 two 3\n"
    assert trees.look(commit, patches[::-1], lambda tree: tree.text("a.py")) == "1 two 3\n"


def test_whole_files_are_made_replaced_deleted_and_renamed(repo, trees):
    commit = repo.commit({"a.py": "a\n", "old/b.py": "b\n", "bin": b"\0\1"})
    rename = Patch(files=(FileChange("old/b.py", None), FileChange("new/c.py", "b\n")))
    patches = [
        whole("bin", "\xff\0"),
        whole("run.sh", "#!/bin/sh\n", "100755"),
        whole("a.py", None),
        rename,
    ]
    tree = trees.look(
        commit,
        patches,
        lambda tree: (
            content(tree),
            tree.files(),
            os.access(tree.root / "run.sh", os.X_OK),
            (tree.root / "old").exists(),
        ),
    )
    assert tree == (
        {"bin": b"\xff\0", "new/c.py": b"b\n", "run.sh": b"#!/bin/sh\n"},
        ("bin", "new/c.py", "run.sh"),
        True,
        False,
    )


def test_the_executable_bit_survives_an_edit(repo, trees):
    repo.write("run.sh", "#!/bin/sh\necho a\n", mode=0o755)
    commit = repo.commit()
    assert trees.look(
        commit, [edit("run.sh", 15, 16, "b")], lambda tree: os.access(tree.root / "run.sh", os.X_OK)
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"a\r\nb\r\n",
        b"a\rb\n",
        b"\xef\xbb\xbfa\n",
        b"a \xff\xfe b",
        b"",
        b"\x0c\x0b\x1c\xe2\x80\xa8x\n",
        "ä€𝄞\n".encode(),
    ],
)
def test_bytes_no_splice_covers_stay_as_they_are(repo, trees, raw):
    commit = (
        repo.commit({"f": raw, ".gitattributes": "* text=auto eol=lf\n"})
        if b"\r" not in raw
        else repo.commit({"f": raw})
    )
    text = raw.decode("utf-8", "surrogateescape")
    assert trees.look(commit, see=lambda tree: tree.text("f")) == text
    assert (
        trees.look(commit, [edit("f", len(text), len(text), "END")], content)["f"] == raw + b"END"
    )


def test_attributes_and_filters_do_not_change_what_is_worked_on(repo, trees, isolated):
    attributes = "*.txt text eol=crlf\n*.id ident\n*.big filter=lfs\n*.utf text working-tree-encoding=UTF-16\n"
    (isolated / ".gitconfig").write_text(
        '[core]\n\tautocrlf = true\n[filter "lfs"]\n\tsmudge = echo smudged\n\trequired = true\n'
    )
    commit = repo.commit(
        {"a.txt": "a\n", "b.id": "$Id$\n", "c.big": "pointer\n", ".gitattributes": attributes}
    )
    seen = trees.look(commit, see=content)
    assert (seen["a.txt"], seen["b.id"], seen["c.big"]) == (b"a\n", b"$Id$\n", b"pointer\n")


def test_odd_names_are_worked_on_like_any_other(repo, trees):
    names = [
        "with space.py",
        'quo"te.py',
        "new\nline.py",
        "tab\t.py",
        "ünï.py",
        "-dash.py",
        "*.py",
        "back\\slash.py",
        " lead",
    ]
    commit = repo.commit(dict.fromkeys(names, "x\n"))
    patches = [edit(name, 0, 1, "y") for name in names]
    seen, listed = trees.look(commit, patches, lambda tree: (content(tree), tree.files()))
    assert seen == dict.fromkeys(names, b"y\n")
    assert sorted(listed) == sorted(names)


def test_a_name_that_is_not_utf8_is_there_but_not_listed(repo, trees):
    name = os.fsdecode(b"caf\xe9.py")
    commit = repo.commit({name: "x\n", "a.py": "a\n"})
    assert trees.look(commit, see=lambda tree: (tree.text(name), tree.files())) == (
        "x\n",
        ("a.py",),
    )


def test_links_and_submodules_are_in_the_tree_but_not_listed_or_read(repo, trees, make_repo):
    other = make_repo("other")
    other.commit({"s.py": "s\n"})
    repo.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub"
    )
    (repo.root / "passwd").symlink_to("/etc/passwd")
    (repo.root / "etc").symlink_to("/etc")
    commit = repo.commit({"a.py": "a\n"})
    files, texts = trees.look(
        commit,
        see=lambda tree: (
            tree.files(),
            [tree.text(path) for path in ("passwd", "etc/passwd", "sub", "sub/s.py", "../x")],
        ),
    )
    assert files == (".gitmodules", "a.py")
    assert texts == [None] * 5


@pytest.mark.parametrize(
    "path",
    [
        "src/x.py",
        "../x.py",
        "/tmp/x.py",
        ".git/hooks/pre-commit",
        "a/.GIT/config",
        "a//b",
        "a/./b",
        "",
    ],
)
def test_nothing_is_written_through_links_or_outside_the_tree(repo, trees, tmp_path, path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo.root / "src").symlink_to(outside)
    commit = repo.commit({"a.py": "a\n"})
    with pytest.raises(RepositoryError):
        trees.look(commit, [whole(path, "evil")])
    assert list(outside.iterdir()) == []
    assert not (tmp_path / "x.py").exists()


def test_a_link_is_replaced_and_not_followed(repo, trees, tmp_path):
    target = tmp_path / "target"
    target.write_text("mine")
    (repo.root / "a.py").symlink_to(target)
    commit = repo.commit()
    assert trees.look(commit, [whole("a.py", "file")], content) == {"a.py": b"file"}
    assert target.read_text() == "mine"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "a/../../../x"])
def test_a_patch_cannot_make_a_link_that_leads_out(repo, trees, target):
    commit = repo.commit({"a.py": "a\n"})
    with pytest.raises(RepositoryError, match="leads out"):
        trees.look(commit, [whole("deep/link", target, "120000")])


@pytest.mark.parametrize(
    "patches",
    [
        [edit("nowhere.py", 0, 0, "x")],
        [edit("a.py", 5, 9, "x")],
        [edit("a.py", 0, 2, "x"), edit("a.py", 1, 2, "y")],
        [edit("a.py", 0, 1, "x"), whole("a.py", "y")],
        [whole("a.py", "x"), whole("a.py", "y")],
        [whole("a.py/b.py", "x")],
        [whole("m", "x", "160000")],
    ],
)
def test_a_patch_that_does_not_fit_is_refused(repo, trees, patches):
    commit = repo.commit({"a.py": "a\n"})
    with pytest.raises(RepositoryError):
        trees.look(commit, patches)


def test_pristine_files_are_the_judges_whatever_the_patches_did(repo, trees):
    base = repo.commit(
        {
            "tests/test_a.py": "strict\n",
            "tests/test_b.py": "b\n",
            "conftest.py": "c\n",
            "tests/gone.py": "g\n",
            "a.py": "a\n",
        }
    )
    repo.git("rm", "--quiet", "tests/gone.py")
    head = repo.commit(
        {"tests/test_a.py": "weaker\n", "tests/test_head.py": "of the branch\n", "a.py": "aa\n"}
    )
    patches = [
        edit("tests/test_a.py", 0, 6, "weakest"),
        edit("a.py", 0, 1, "b"),
        whole("tests/test_b.py", None),
        whole("tests/test_new.py", "new\n"),
        whole("deep/conftest.py", "planted\n"),
        whole("tests/test_head.py", "edited\n"),
    ]
    seen = trees.look(
        head, patches, content, pristine=Pristine(origin=base, kept=("tests/**", "conftest.py"))
    )
    assert seen == {
        "a.py": b"ba\n",
        "conftest.py": b"c\n",
        "deep/conftest.py": b"planted\n",
        "tests/gone.py": b"g\n",
        "tests/test_a.py": b"strict\n",
        "tests/test_b.py": b"b\n",
        "tests/test_head.py": b"of the branch\n",
        "tests/test_new.py": b"new\n",
    }


def test_of_files_the_origin_has_alone_there_are_no_others(repo, trees):
    base = repo.commit({"setup.cfg": "strict\n", "tests/conftest.py": "c\n", "a.py": "a\n"})
    head = repo.commit(
        {
            "setup.cfg": "lax\n",
            "pytest.ini": "mine\n",
            "pkg/conftest.py": "mine\n",
            "tests/test_new.py": "t\n",
        }
    )
    patches = [
        whole("tox.ini", "planted\n"),
        whole("tests/conftest.py", "patched\n"),
        edit("pytest.ini", 0, 4, "ours"),
    ]
    judge = Pristine(origin=base, alone=("*.ini", "setup.cfg", "conftest.py"), kept=("tests/**",))
    seen, listed = trees.look(head, patches, lambda tree: (content(tree), tree.files()), judge)
    assert seen == {
        "setup.cfg": b"strict\n",
        "tests/conftest.py": b"c\n",
        "a.py": b"a\n",
        "tests/test_new.py": b"t\n",
    }
    assert sorted(listed) == sorted(seen)


def test_opened_files_are_as_the_patches_want_them_and_no_others(repo, trees):
    base = repo.commit(
        {"setup.cfg": "strict\n", "tests/test_a.py": "a\n", "tests/test_b.py": "b\n"}
    )
    head = repo.commit(
        {
            "setup.cfg": "lax\n",
            "tests/test_a.py": "aa\n",
            "tests/test_b.py": "bb\n",
            "tox.ini": "t\n",
            "pytest.ini": "p\n",
        }
    )
    patches = [
        edit("tests/test_a.py", 0, 1, "x"),
        edit("tests/test_b.py", 0, 1, "x"),
        edit("tox.ini", 0, 1, "x"),
    ]
    judge = Pristine(
        origin=base,
        alone=("*.ini", "setup.cfg"),
        kept=("tests/**",),
        opened=frozenset({"tests/test_a.py", "tox.ini"}),
    )
    assert trees.look(head, patches, content, judge) == {
        "setup.cfg": b"strict\n",
        "tests/test_a.py": b"xa\n",
        "tests/test_b.py": b"b\n",
        "tox.ini": b"x\n",
    }


@pytest.mark.parametrize("judge", [{"alone": ("tests/**",)}, {"kept": ("tests/**",)}])
def test_a_commit_that_is_its_own_origin_is_as_it_is(repo, trees, judge):
    commit = repo.commit({"tests/test_a.py": "a\n", "a.py": "a\n"})
    patches = [edit("tests/test_a.py", 0, 1, "weak"), edit("a.py", 0, 1, "b")]
    assert trees.look(commit, patches, content, Pristine(origin=commit, **judge)) == {
        "tests/test_a.py": b"a\n",
        "a.py": b"b\n",
    }


def test_a_used_tree_comes_back_clean(repo, trees, tmp_path):
    commit = repo.commit(
        {"a.py": "a\n", "src/b.py": "b\n", ".gitignore": "*.pyc\n", "dir/c.py": "c\n"}
    )
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("keep")

    def make_a_mess(tree):
        (tree.root / "a.py").unlink()
        (tree.root / "a.py").mkdir()
        (tree.root / "a.py/junk").write_text("junk")
        (tree.root / "cached.pyc").write_text("stale")
        (tree.root / "nested").mkdir()
        subprocess.run(["git", "init", "--quiet", "nested"], cwd=tree.root, check=True)
        (tree.root / "nested/x").write_text("x")
        (tree.root / "src/b.py").unlink()
        (tree.root / "src").rmdir()
        (tree.root / "src").symlink_to(outside)
        (tree.root / "dir/c.py").chmod(0o755)
        return tree.root

    root = trees.look(commit, see=make_a_mess)
    seen, again, executable = trees.look(
        commit,
        see=lambda tree: (content(tree), tree.root, os.access(tree.root / "dir/c.py", os.X_OK)),
    )
    assert (seen, executable) == (
        {"a.py": b"a\n", "src/b.py": b"b\n", ".gitignore": b"*.pyc\n", "dir/c.py": b"c\n"},
        False,
    )
    assert again == root
    assert (outside / "keep").read_text() == "keep"


def test_what_is_left_in_the_folder_of_a_submodule_does_not_come_back(repo, trees, make_repo):
    other = make_repo("other")
    other.commit({"s.py": "s\n"})
    add = ("submodule", "--quiet", "add", str(other.root), "sub")
    repo.git("-c", "protocol.file.allow=always", *add)
    commit = repo.commit({"a.py": "a\n"})

    def leave(tree):
        (tree.root / "sub/inner").mkdir()
        (tree.root / "sub/inner/left.py").write_text("left")
        return tree.root

    root = trees.look(commit, see=leave)
    seen, again, there = trees.look(
        commit, see=lambda tree: (content(tree), tree.root, (tree.root / "sub").is_dir())
    )
    assert (sorted(seen), there) == ([".gitmodules", "a.py"], True)
    assert again == root


def test_what_git_is_told_inside_a_tree_is_forgotten(repo, trees, tmp_path):
    commit = repo.commit({"a.py": "a\n", "b.py": "b\n"})
    marker = tmp_path / "ran"

    def deceive(tree):
        def git(*arguments):
            subprocess.run(["git", *arguments], cwd=tree.root, check=True, capture_output=True)

        git("update-index", "--assume-unchanged", "a.py")
        git("update-index", "--skip-worktree", "b.py")
        (tree.root / "a.py").write_text("poisoned\n")
        (tree.root / "b.py").write_text("poisoned\n")
        (tree.root / ".git").unlink()
        git("init", "--quiet")
        git("config", "core.fsmonitor", f"touch {marker}")
        git("config", "core.worktree", "/")

    trees.look(commit, see=deceive)
    assert trees.look(commit, see=content) == {"a.py": b"a\n", "b.py": b"b\n"}
    assert not marker.exists()


def test_a_commit_made_inside_a_tree_moves_no_branch(repo, trees):
    commit = repo.commit({"a.py": "a\n"})

    def commit_inside(tree):
        (tree.root / "a.py").write_text("agent\n")
        subprocess.run(["git", "commit", "--quiet", "-am", "sneaky"], cwd=tree.root, check=True)
        subprocess.run(["git", "checkout", "--quiet", "-b", "sneaky"], cwd=tree.root, check=True)

    trees.look(commit, see=commit_inside)

    def log(tree):
        return (
            subprocess.run(
                ["git", "log", "--format=%H"], cwd=tree.root, check=True, capture_output=True
            )
            .stdout.decode()
            .split()
        )

    assert trees.look(commit, see=log) == [commit]
    assert repo.git("branch", "--list") == "* main"


def test_two_users_at_once_have_two_trees_and_the_third_reuses_one(repo, home):
    commit = repo.commit({"a.py": "a\n"})

    async def together():
        first, second = await open_trees(repo.root, home), await open_trees(repo.root, home)
        async with (
            first.open_tree(commit) as one,
            first.open_tree(commit, [edit("a.py", 0, 1, "x")]) as two,
            second.open_tree(commit) as three,
        ):
            assert len({one.root, two.root, three.root}) == 3
            assert (one.text("a.py"), two.text("a.py")) == ("a\n", "x\n")
            roots = {one.root, two.root, three.root}
        async with second.open_tree(commit) as four:
            return four.root in roots

    assert asyncio.run(together())


def test_trees_of_a_killed_process_are_taken_over_and_pruned(repo, home):
    commit = repo.commit({"a.py": "a\n"})
    program = f"""
        import asyncio, os, pathlib, signal
        from punchlist.adapters.git.checkout import Checkout
        from punchlist.adapters.git.workshop import Workshop
        from punchlist.adapters.git.worktrees import WorkTrees
        async def main():
            workshop = await Workshop.open(await Checkout.find(pathlib.Path({str(repo.root)!r})), pathlib.Path({str(home)!r}))
            async with WorkTrees(workshop).open_tree({commit!r}) as tree:
                (tree.root / "half").write_text("half")
                pathlib.Path(str(tree.root) + ".index.lock").touch()
                os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        check=False,
        env={**os.environ, "PYTHONPATH": "src"},
    )
    assert killed.returncode == -9

    async def after():
        opened = await open_trees(repo.root, home)
        async with opened.open_tree(commit) as tree:
            assert content(tree) == {"a.py": b"a\n"}
            assert opened.prune() == 0
            assert tree.text("a.py") == "a\n"
        return opened.prune(), list(
            (await Workshop.open(await Checkout.find(repo.root), home)).trees.iterdir()
        )

    assert asyncio.run(after()) == (1, [])


def test_a_tree_somebody_made_unreadable_is_replaced(repo, trees):
    commit = repo.commit({"d/a.py": "a\n"})

    def lock_up(tree):
        (tree.root / "d/junk").write_text("x")
        (tree.root / "d").chmod(0)

    trees.look(commit, see=lock_up)
    assert trees.look(commit, see=content) == {"d/a.py": b"a\n"}


def test_a_huge_file_is_edited_and_not_mangled(repo, trees):
    raw = bytes(range(256)) * (20 << 12)
    commit = repo.commit({"huge.bin": raw})
    length = len(raw.decode("utf-8", "surrogateescape"))
    assert trees.look(
        commit,
        [edit("huge.bin", length, length, "!")],
        lambda tree: (tree.root / "huge.bin").read_bytes() == raw + b"!",
    )


def test_a_home_that_cannot_be_written_is_said_with_a_remedy(repo, tmp_path):
    repo.commit({"a.py": "a\n"})
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RepositoryError) as refused:
        asyncio.run(open_trees(repo.root, tmp_path / "file"))
    assert "PUNCHLIST_HOME" in refused.value.hint


def test_a_disk_in_disorder_is_said_with_a_remedy(repo, home):
    commit = repo.commit({"a.py": "a\n"})

    async def inside():
        opened = await open_trees(repo.root, home)
        folder = opened._workshop.trees
        folder.rmdir()
        folder.write_text("in the way")
        async with opened.open_tree(commit):
            pass

    with pytest.raises(RepositoryError, match="cannot be written") as refused:
        asyncio.run(inside())
    assert "PUNCHLIST_HOME" in refused.value.hint


def test_an_error_of_the_trees_user_stays_what_it_is(repo, trees):
    commit = repo.commit({"a.py": "a\n"})
    with pytest.raises(FileNotFoundError):
        trees.look(commit, see=lambda tree: (tree.root / "nowhere").read_text())


def test_a_repository_with_sha256_names_works_the_same(make_repo, home):
    repo = make_repo("sha256", init=False)
    repo.git("init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    commit = repo.commit({"a.py": "a\n"})

    async def inside():
        async with (await open_trees(repo.root, home)).open_tree(
            commit, [edit("a.py", 0, 1, "b")]
        ) as tree:
            return content(tree)

    assert len(commit) == 64
    assert asyncio.run(inside()) == {"a.py": b"b\n"}


def test_a_version_taken_from_tags_is_the_same_in_a_tree(repo, trees):
    repo.commit({"a.py": "a\n"})
    repo.git("tag", "--annotate", "v1.2", "--message", "a release")
    commit = repo.commit({"a.py": "b\n"})

    def described(tree):
        return (
            subprocess.run(["git", "describe"], cwd=tree.root, check=True, capture_output=True)
            .stdout.decode()
            .strip()
        )

    assert trees.look(commit, see=described) == repo.git("describe")


def test_a_partial_clone_that_lacks_files_is_refused_with_the_remedy(repo, make_repo, home):
    base = repo.commit({"a.py": "long gone\n"})
    repo.commit({"a.py": "now\n"})
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = make_repo("partial", init=False)
    clone.git("clone", "--quiet", "--filter=blob:none", f"file://{repo.root}", ".")

    async def look(commit):
        async with (await open_trees(clone.root, home)).open_tree(commit) as tree:
            return content(tree)

    assert asyncio.run(look(clone.head)) == {"a.py": b"now\n"}
    with pytest.raises(RepositoryError) as refused:
        asyncio.run(look(base))
    assert "--refetch" in refused.value.hint


@settings(max_examples=25, deadline=None)
@given(
    text=st.text(max_size=60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    words=st.lists(st.text(max_size=4), min_size=3, max_size=3),
)
def test_editing_bytes_is_editing_their_text(text, cuts, words):
    """Law: for any disjoint splices, what lands on disk is the spliced text, byte for byte."""
    from punchlist.adapters.git.overlay import splice_content as edited

    points = sorted({min(cut, len(text)) for cut in cuts})
    spans = list(zip(points[::2], points[1::2], strict=False))
    splices = [
        Splice("f", start, end, word) for (start, end), word in zip(spans, words, strict=False)
    ]
    expected, shift = text, 0
    for splice in splices:
        expected = expected[: splice.start + shift] + splice.text + expected[splice.end + shift :]
        shift += len(splice.text) - (splice.end - splice.start)
    assert edited(text.encode(), splices) == expected.encode()


def open_twice(repo, home, commit, between):
    """Open the tree of a commit, leave a trace in it, do something, and return what the next user
    of it finds.
    """

    async def inside():
        trees = await open_trees(repo.root, home)
        async with trees.open_tree(commit, shared=True) as tree:
            (tree.root / "trace").write_text("of the first user")
        await between(trees)
        async with trees.open_tree(commit) as tree:
            return "trace" in content(tree)

    return asyncio.run(inside())


async def do_nothing(trees):
    pass


def test_a_tree_that_nothing_wrote_into_is_not_made_anew(repo, home):
    assert open_twice(repo, home, repo.commit({"a": "1"}), do_nothing)


def test_a_tree_that_another_user_had_meanwhile_is_made_anew(repo, home):
    async def use(trees):
        async with trees.open_tree(commit):
            pass

    commit = repo.commit({"a": "1"})
    assert not open_twice(repo, home, commit, use)


def test_a_tree_that_another_process_had_meanwhile_is_made_anew(repo, home):
    async def use(_):
        async with (await open_trees(repo.root, home)).open_tree(commit, shared=True):
            pass

    commit = repo.commit({"a": "1"})
    assert not open_twice(repo, home, commit, use)


def replace_folder(root):
    shutil.rmtree(root)
    root.mkdir()
    (root / ".git").write_text("gitdir: elsewhere")


def delete_file(root):
    (root / "a").unlink()


@pytest.mark.parametrize(
    ("destroy", "lent"),
    [(shutil.rmtree, True), (shutil.rmtree, False), (replace_folder, False), (delete_file, False)],
)
def test_a_tree_whose_folder_was_deleted_or_replaced_is_made_anew(repo, home, destroy, lent):
    async def inside():
        trees = await open_trees(repo.root, home)
        async with trees.open_tree(commit, shared=True) as tree:
            if lent:
                destroy(tree.root)
        if not lent:
            destroy(tree.root)
        async with trees.open_tree(commit) as again:
            assert again.root == tree.root
            return content(again)

    commit = repo.commit({"a": "1"})
    assert asyncio.run(inside()) == {"a": b"1"}


def test_a_tree_is_made_anew_for_other_files(repo, home):
    async def inside():
        trees = await open_trees(repo.root, home)
        for patches in ([], [whole("a", "2")], []):
            async with trees.open_tree(commit, patches, shared=True) as tree:
                seen.append(content(tree)["a"])

    commit, seen = repo.commit({"a": "1"}), []
    asyncio.run(inside())
    assert seen == [b"1", b"2", b"1"]


def test_a_tree_is_made_anew_after_an_error_inside(repo, home):
    async def fail_inside(trees):
        async with trees.open_tree(commit, shared=True) as tree:
            (tree.root / "trace").write_text("half done")
            raise KeyError

    async def inside():
        trees = await open_trees(repo.root, home)
        with pytest.raises(KeyError):
            await fail_inside(trees)
        async with trees.open_tree(commit) as tree:
            return content(tree)

    commit = repo.commit({"a": "1"})
    assert "trace" not in asyncio.run(inside())


def test_a_repository_that_was_deleted_is_told_also_if_its_folder_is_there_again(repo, home):
    async def inside():
        trees = await open_trees(repo.root, home)
        (git_dir,) = home.glob("repos/*/git")
        shutil.rmtree(git_dir)
        (git_dir / "worktrees" / "t1").mkdir(parents=True)
        async with trees.open_tree(commit):
            pass

    commit = repo.commit({"a": "1"})
    with pytest.raises(RepositoryError, match="was deleted while the run was at work"):
        asyncio.run(inside())


def test_readers_of_the_same_files_share_one_tree_and_others_do_not(repo, home):
    async def read(trees, *arguments, **options):
        async with trees.open_tree(*arguments, **options) as tree:
            if len(places) < len(wishes) - 1:
                places.append(tree.root)
                await everyone_is_in.wait()
            else:
                places.append(tree.root)
                everyone_is_in.set()
            return tree.root

    async def inside():
        trees = await open_trees(repo.root, home)
        return await asyncio.gather(*(read(trees, *wish, **options) for *wish, options in wishes))

    commit, places = repo.commit({"a": "1"}), []
    everyone_is_in = asyncio.Event()
    wishes = [
        (commit, {"shared": True}),
        (commit, {"shared": True}),
        (commit, {}),
        (commit, [whole("a", "2")], {"shared": True}),
    ]
    first, second, writer, patched = asyncio.run(inside())
    assert first == second
    assert len({first, writer, patched}) == 3


@pytest.mark.parametrize("turns", [0, 1, 3, 9])
def test_if_the_reader_that_prepares_a_shared_tree_is_stopped_the_next_one_does_it(
    repo, home, turns
):
    async def read(trees):
        async with trees.open_tree(commit, shared=True) as tree:
            return content(tree)

    async def inside():
        trees = await open_trees(repo.root, home)
        first, second = asyncio.create_task(read(trees)), asyncio.create_task(read(trees))
        for _ in range(turns):
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return await second

    commit = repo.commit({"a": "1"})
    assert asyncio.run(inside()) == {"a": b"1"}
