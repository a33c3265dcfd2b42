"""The user's repository: asked, and never written to."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from punchlist.adapters.git.command import EMPTY_TREES, Git, fields, require_git, said, text_of
from punchlist.adapters.process.run import Ran
from punchlist.errors import RepositoryError, UsageError

_FACTS = (
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--is-shallow-repository",
    "--show-object-format",
)
_USUAL_BRANCHES = ("main", "master", "trunk", "develop", "default")
_TRUSTED = ("safe.directory=*",)
"""Set only after git itself, with the user's own configuration, agreed to work here."""


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Who commits are by."""

    name: str = "punchlist"
    email: str = "punchlist@localhost"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """`git_dir` is what all linked work trees share, `own_dir` what belongs to this one; `start` is
    where the user stands.
    """

    root: Path
    start: Path
    git_dir: Path
    own_dir: Path
    shallow: bool
    object_format: str
    head: str
    """The commit HEAD was when we looked."""

    @classmethod
    async def find(cls, start: Path) -> "Checkout":
        """The checkout around a folder; what cannot be worked with is refused with a remedy."""
        await require_git()
        start = start.resolve()  # a few links, once
        if not start.is_dir():
            raise UsageError(
                f"{start}: no such folder", hint="run punchlist inside a git repository"
            )
        git = Git(start, theirs=True)
        facts = await git.ran("rev-parse", *_FACTS)
        if not facts.ok:
            raise _refused(start, facts)
        bare, inside, shallow, object_format = facts.stdout.decode().split()
        if bare == "true" or inside == "false":
            what = "a bare repository" if bare == "true" else "inside git's own folder"
            raise RepositoryError(
                f"{start}: {what}, there are no files to work on",
                hint="clone it, or go to its work tree",
            )
        root = Path(await git.line("rev-parse", "--show-toplevel"))
        return cls(
            root=root,
            start=start,
            git_dir=(start / await git.line("rev-parse", "--git-common-dir")).resolve(),
            own_dir=(start / await git.line("rev-parse", "--absolute-git-dir")).resolve(),
            shallow=shallow == "true",
            object_format=object_format,
            head=await _head(git, root),
        )

    @cached_property
    def git(self) -> Git:
        """Git for reading, with nobody's configuration but the repository's."""
        return Git(self.root, settings=_TRUSTED)

    @cached_property
    def theirs(self) -> Git:
        """Git as the user has it: their identity, their filters, their line ends."""
        return Git(self.root, theirs=True, settings=_TRUSTED)

    @property
    def objects(self) -> Path:
        return self.git_dir / "objects"

    @property
    def empty_tree(self) -> str:
        return EMPTY_TREES[self.object_format]

    async def commit(self, name: str) -> str | None:
        """The commit a name stands for; None where there is none."""
        ran = await self.git.ran(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
        return ran.stdout.decode().strip() if ran.ok else None

    async def branch(self) -> str:
        """The current branch; an empty string where HEAD is detached."""
        ran = await self.git.ran("symbolic-ref", "--quiet", "--short", "HEAD")
        return text_of(ran.stdout).strip() if ran.ok else ""

    async def holds(self, branch: str) -> tuple[str, str]:
        """The commit a branch is at, and the work tree that has it checked out; empty where there
        is none.
        """
        printed = await self.git.out(
            "for-each-ref", "--format=%(objectname)%00%(worktreepath)%00", f"refs/heads/{branch}"
        )
        commit, where = text_of(printed).split("\0")[:2] if printed else ("", "")
        return commit, where

    async def where(self) -> str:
        """The current branch in words: its name, or "detached at abc1234"."""
        return await self.branch() or f"detached at {self.head[:10]}"

    async def default_branch(self) -> tuple[str, ...]:
        """What the project's main line goes by here, the remote's word first; empty where nothing
        looks like one.
        """
        remote = await self.git.ran(
            "symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"
        )
        configured = await self.theirs.ran("config", "--get", "init.defaultBranch")
        short = text_of(remote.stdout).strip().removeprefix("origin/")
        usual = dict.fromkeys((short, text_of(configured.stdout).strip(), *_USUAL_BRANCHES))
        refs = set(
            fields(
                await self.git.out(
                    "for-each-ref", "--format=%(refname)%00", "refs/heads", "refs/remotes/origin"
                )
            )
        )
        refs = {ref.lstrip("\n") for ref in refs}
        for name in filter(None, usual):
            known = {f"refs/remotes/origin/{name}": f"origin/{name}", f"refs/heads/{name}": name}
            if found := tuple(shown for ref, shown in known.items() if ref in refs):
                return found
        return ()

    async def uncommitted(self, *, unstaged_only: bool = False) -> int:
        """How many files differ from HEAD (or only from the index), or are unknown to git."""
        printed = await self.theirs.out(
            "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all"
        )
        return sum(not unstaged_only or line[1] != " " for line in fields(printed))

    async def identity(self) -> Identity:
        """The user's own name, as their git has it."""
        name = await self.theirs.ran("config", "--get", "user.name")
        email = await self.theirs.ran("config", "--get", "user.email")
        known = [text_of(ran.stdout).strip().translate(_NOT_IN_NAMES) for ran in (name, email)]
        return Identity(name=known[0], email=known[1]) if all(known) else Identity()

    async def show(self, commit: str, path: str) -> bytes | None:
        """A file of a commit; None where it has no regular file of that name."""
        listed = await self.git.ran("ls-tree", "-z", "--full-tree", commit, "--", path)
        if not listed.ok or not listed.stdout.startswith(b"100"):
            return None
        blob = listed.stdout.split(maxsplit=3)[2].decode()
        return await self.git.out("cat-file", "blob", blob)

    def below(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Paths as the user typed them, relative to the root; one outside of it is refused."""
        return tuple(self._below(path) for path in paths)

    def _below(self, path: str) -> str:
        # The last part is not resolved: a link is named, not what it points to.
        asked = self.start / path
        full = (
            asked.parent.resolve() / asked.name if asked.name not in ("", "..") else asked.resolve()
        )
        if not full.is_relative_to(self.root.resolve()):
            raise UsageError(
                f"{path}: lies outside {self.root}",
                hint="name files and folders of this repository",
            )
        return full.relative_to(self.root.resolve()).as_posix()


_NOT_IN_NAMES = str.maketrans("", "", "<>\n\0")


async def _head(git: Git, root: Path) -> str:
    found = await git.ran("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if found.ok:
        return found.stdout.decode().strip()
    if (await git.ran("rev-parse", "--verify", "--quiet", "HEAD")).ok:
        raise RepositoryError(
            f"{root}: HEAD names a commit that cannot be read: {said(found)}",
            hint="look at: git fsck",
        )
    raise RepositoryError(
        f"{root}: the repository has no commits yet",
        hint='git add . && git commit -m "first commit", then try again',
    )


def _refused(start: Path, facts: Ran) -> RepositoryError:
    """Why git does not want to work in a folder, with the remedy."""
    words = said(facts)
    if "dubious ownership" in words or "unsafe repository" in words:
        return RepositoryError(
            f"{start}: the repository belongs to someone else",
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
