"""The user's repository, read only and without the programs that its configuration names."""

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.folders.look import is_folder, is_link, path_exists, resolve_path
from punchlist.adapters.git.clean_view import (
    Setting,
    list_unused_transports,
    make_view,
    parse_settings,
)
from punchlist.adapters.git.command import (
    EMPTY_TREES,
    Git,
    decode_text,
    error_text,
    require_git,
    split_fields,
)
from punchlist.adapters.git.identity import RemoteName, choose_name
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.finding.late_pattern import late_pattern

_FACTS = (
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--is-shallow-repository",
    "--show-object-format",
)
_FOLDERS = ("--show-toplevel", "--git-common-dir", "--absolute-git-dir")
_USUAL_BRANCHES = ("main", "master", "trunk", "develop", "default")
_BRANCH = late_pattern(rb"ref: refs/heads/([^\0-\x20]+)\n")
"""What the file HEAD has while a branch is checked out."""
_NOT_IN_NAMES = str.maketrans("", "", "<>\n\0")


class Identity(Struct, frozen=True, kw_only=True):
    """Author of commits."""

    name: str = "punchlist"
    email: str = "punchlist@localhost"


class Checkout(Struct, frozen=True, kw_only=True, dict=True):
    """`start` is the user's current folder, `head` the commit of HEAD when it was read; `git_dir`
    is shared by all linked work trees, `own_dir` belongs to this one.
    """

    root: Path
    start: Path
    git_dir: Path
    own_dir: Path
    shallow: bool
    object_format: str
    head: str
    moved: bool = False
    """Whether `head` is not what is checked out."""
    identity: str = ""
    """What the repository is called on every machine; '' if nothing says it."""
    author: Identity = Identity()
    """The user, by git's configuration."""
    settings: tuple[Setting, ...] = ()
    """Git's configuration of every scope, in git's order: data, of which git gets the harmless."""
    view: Path
    """What stands for `git_dir` wherever git runs here (see clean_view)."""

    @classmethod
    async def find(cls, start: Path, *, unborn: bool = False) -> "Checkout":
        """Find the checkout around a folder; raises RepositoryError or UsageError with a hint. With
        `unborn` it may be one without commits: `head` is '' then.
        """
        await require_git()
        start = resolve_path(start)
        if not is_folder(start):
            hint = "run punchlist inside a git repository"
            raise UsageError(f"{start}: no such folder", hint=hint)
        # These two commands open no object, no index and no file, so they start no program.
        ask = Git(start, theirs=True)
        facts, listed = await asyncio.gather(
            ask.run("rev-parse", *_FACTS, *_FOLDERS),
            ask.run("config", "-z", "--show-scope", "--list"),
        )
        lines = decode_text(facts.stdout).splitlines()
        if len(lines) < len(_FACTS):
            raise _explain_refusal(start, facts)
        bare, inside, shallow, object_format = lines[: len(_FACTS)]
        if bare == "true" or inside == "false":
            what = "a bare repository" if bare == "true" else "inside git's own folder"
            raise RepositoryError(
                f"{start}: {what}, there are no files to work on",
                hint="clone it, or go to its work tree",
            )
        folders = lines[len(_FACTS) :]
        if len(folders) != len(_FOLDERS):  # one has a line break in its name
            folders = [await ask.read_line("rev-parse", folder) for folder in _FOLDERS]
        root, git_dir, own_dir = (start / folder for folder in folders)
        settings = tuple(parse_settings(split_fields(listed.stdout)))
        view = make_view(resolve_path(git_dir), settings)
        git = Git(root, theirs=True, git_dir=resolve_path(own_dir), common_dir=view)
        head = await _read_head(git, root, unborn=unborn)
        known = [(each.key, each.value) for each in settings]
        return cls(
            root=root,
            start=start,
            git_dir=resolve_path(git_dir),
            own_dir=resolve_path(own_dir),
            shallow=shallow == "true",
            object_format=object_format,
            head=head,
            identity=await _identify(
                git, choose_name(known, root), head if shallow == "false" else ""
            ),
            author=_find_author(known),
            settings=settings,
            view=view,
        )

    def move_head(self, head: str) -> "Checkout":
        """Return the checkout as if this commit were checked out."""
        return replace(self, head=head, moved=True)

    @cached_property
    def git(self) -> Git:
        """Git for reading, with no configuration of the user's."""
        return Git(self.root, git_dir=self.own_dir, common_dir=self.view)

    @cached_property
    def user_git(self) -> Git:
        """Git with the user's configuration: identity, filters, line ends."""
        unused = list_unused_transports(self.settings)
        place = {"git_dir": self.own_dir, "common_dir": self.view}
        return Git(self.root, theirs=True, unused=unused, **place)

    @property
    def objects(self) -> Path:
        return self.git_dir / "objects"

    @property
    def empty_tree(self) -> str:
        return EMPTY_TREES[self.object_format]

    async def resolve_commit(self, name: str) -> str | None:
        """Return the commit of a name, or None."""
        flags = ("--verify", "--quiet", "--end-of-options")
        return await self.git.find_line("rev-parse", *flags, f"{name}^{{commit}}") or None

    async def current_branch(self) -> str:
        """Return the current branch, or '' if HEAD is detached."""
        head = self.own_dir / "HEAD"
        with suppress(OSError):
            named = _BRANCH.fullmatch(head.read_bytes())
            if named and not is_link(head) and not path_exists(self.git_dir / "reftable"):
                return decode_text(named[1])
        return await self.git.find_line("symbolic-ref", "--quiet", "--short", "HEAD")

    async def locate_branch(self, branch: str) -> tuple[str, str]:
        """Return a branch's commit and the work tree that has it checked out; '' if none."""
        fields = await self.git.list_fields(
            "for-each-ref", "--format=%(objectname)%00%(worktreepath)%00", f"refs/heads/{branch}"
        )
        commit, where = fields[:2] if fields else ("", "")
        return commit, str(self._main_root) if where == str(self.view.parent) else where

    @property
    def _main_root(self) -> Path:
        """The work tree that is not a linked one."""
        if self.own_dir == self.git_dir:
            return self.root
        return self.git_dir.parent if self.git_dir.name == ".git" else self.git_dir

    @property
    def own_filters(self) -> frozenset[str]:
        """The filters that only the repository's own configuration defines: they are not run."""
        filters = [each for each in self.settings if each.key.startswith("filter.")]
        own, users = (
            {
                each.key.split(".", 1)[1].rpartition(".")[0]
                for each in filters
                if each.is_own is mine
            }
            for mine in (True, False)
        )
        return frozenset(own - users)

    async def find_main_branch(self) -> tuple[str, ...]:
        """Return the names of the main branch here, the remote's first; () if there is none."""
        remote = await self.git.find_line(
            "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"
        )
        configured = await self.user_git.find_line("config", "--get", "init.defaultBranch")
        usual = dict.fromkeys((remote.removeprefix("origin/"), configured, *_USUAL_BRANCHES))
        listed = await self.git.list_fields(
            "for-each-ref", "--format=%(refname)%00", "refs/heads", "refs/remotes/origin"
        )
        refs = {ref.lstrip("\n") for ref in listed}
        for name in filter(None, usual):
            known = {f"refs/remotes/origin/{name}": f"origin/{name}", f"refs/heads/{name}": name}
            if found := tuple(shown for ref, shown in known.items() if ref in refs):
                return found
        return ()

    async def count_uncommitted(self, *, unstaged_only: bool = False) -> int:
        """Count files that differ from HEAD (or only from the index) or are untracked."""
        lines = await self.user_git.list_fields(
            "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"
        )
        return sum(not unstaged_only or line[1] != " " for line in lines)

    async def read_file(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit; None if it has no regular file of that name."""
        listed = await self.git.run("ls-tree", "-z", "--full-tree", commit, "--", path)
        if not listed.ok or not listed.stdout.startswith(b"100"):
            return None
        blob = listed.stdout.split(maxsplit=3)[2].decode()
        return await self.git.check_output("cat-file", "blob", blob)

    async def list_tracked(self, folders: Sequence[str]) -> frozenset[str]:
        """Return those of the folders that are part of the repository, wholly or in part, as they
        are or behind links.
        """
        tracked = set()
        root = resolve_path(self.root)
        for folder in folders:
            place = self.root / folder
            inner = resolve_path(place)
            paths = (
                [folder, str(inner.relative_to(root))] if inner.is_relative_to(root) else [folder]
            )
            if os.path.lexists(place) and await self.git.find_line("ls-files", "-z", "--", *paths):
                tracked.add(folder)
        return frozenset(tracked)

    def resolve_paths(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the user's paths relative to the root; raises UsageError for one outside."""
        return tuple(self._resolve_path(path) for path in paths)

    def _resolve_path(self, path: str) -> str:
        asked, root = self.start / path, resolve_path(self.root)
        # The last part is not resolved: a link is named, not what it points to.
        named = asked.name not in ("", "..")
        full = resolve_path(asked.parent) / asked.name if named else resolve_path(asked)
        if not full.is_relative_to(root):
            raise UsageError(
                f"{path}: lies outside {self.root}",
                hint="name files and folders of this repository",
            )
        return full.relative_to(root).as_posix()


def _find_author(settings: Iterable[tuple[str, str]]) -> Identity:
    """Return the user's name and email; those of punchlist if one of them is not known."""
    known = {
        key.removeprefix("user."): value.strip().translate(_NOT_IN_NAMES)
        for key, value in settings
        if key in {"user.name", "user.email"}
    }
    return Identity(**known) if all(map(known.get, ("name", "email"))) else Identity()


async def _identify(git: Git, name: RemoteName | None, head: str) -> str:
    """Return the repository's identity. A name that may be that of several repositories is one
    together with the first commit; a clone without that has no identity then.
    """
    if name is None or not name.vague:
        return name.name if name else ""
    roots = await git.find_line("rev-list", "--max-parents=0", head) if head else ""
    return f"{name.name}#{roots.split()[-1][:16]}" if roots else ""


async def _read_head(git: Git, root: Path, *, unborn: bool) -> str:
    found = await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if found.ok:
        return found.stdout.decode().strip()
    if (await git.run("rev-parse", "--verify", "--quiet", "HEAD")).ok:
        raise RepositoryError(
            f"{root}: HEAD names a commit that cannot be read: {error_text(found)}",
            hint="look at: git fsck",
        )
    if unborn:
        return ""
    raise RepositoryError(
        f"{root}: the repository has no commits yet",
        hint='git add . && git commit -m "first commit", then try again',
    )


def _explain_refusal(start: Path, facts: ProcessResult) -> RepositoryError:
    """Return the error for a folder that git refuses, with a hint."""
    words = error_text(facts)
    if "dubious ownership" in words or "unsafe repository" in words:
        return RepositoryError(
            f"{start}: the repository belongs to another user",
            hint=f"git config --global --add safe.directory {start}",
        )
    if "not a git repository" in words.lower():
        return RepositoryError(
            f"{start}: not a git repository",
            hint="go to one, or make this one: git init && git add . && git commit",
        )
    return RepositoryError(
        f"{start}: git cannot read this repository: {words}", hint="look at: git fsck"
    )
