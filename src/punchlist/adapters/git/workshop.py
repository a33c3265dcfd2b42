"""The workshop: our own bare repository that borrows the user's objects."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

from punchlist.adapters.folders.look import is_file
from punchlist.adapters.folders.remove import SET_ASIDE
from punchlist.adapters.git.checkout import Checkout, Identity
from punchlist.adapters.git.command import MISSING, Git, TreeEntry, decode_text, quote_path
from punchlist.errors import RepositoryError
from punchlist.model.finding.reading_limits import is_too_deep

_CONFIG = """[core]
\trepositoryformatversion = {version}
\tbare = true
\thooksPath = /dev/null
\tautocrlf = false
\tfileMode = true
\tsymlinks = true
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlogAllRefUpdates = false
\tcompression = 1
[gc]
\tauto = 0
[extensions]
{extensions}"""
_SHA256 = "\tobjectFormat = sha256\n"
# Files are worked on as the blobs have them: no line-end, encoding, keyword or LFS conversion,
# whatever .gitattributes says.
_ATTRIBUTES = "* -text !eol -ident -filter !working-tree-encoding\n"
ENVIRONMENTS = (".venv", "venv", "node_modules")
_LISTINGS = 8
_BLOBS = 256
_BLOB_BYTES = 8 << 20


class Workshop:
    """The state of one user repository: `git` (objects and branches) and `trees`."""

    def __init__(self, folder: Path, checkout: Checkout, identity: Identity) -> None:
        self.folder = folder
        self.checkout = checkout
        self.identity = identity
        self.git_dir = folder / "git"
        self.trees = folder / "trees"
        self.set_aside = folder / SET_ASIDE
        """What could not be deleted."""
        self.tracked_environments = frozenset[str]()
        """Folders of installed programs in the checkout that are part of the repository."""
        self.last_commits: dict[str, str] = {}
        """By work tree: the commit that it was prepared for last."""
        self.untouched_trees: dict[str, Any] = {}
        """By work tree that nothing has written into: what it was prepared for."""
        self.shared_trees: list[Any] = []
        """Work trees that are lent to any number of users, who write nothing into them."""
        self._listings: dict[str, dict[str, TreeEntry]] = {}
        self._deep: dict[str, tuple[str, ...]] = {}
        self._blobs: dict[str, bytes] = {}

    @classmethod
    async def open(cls, checkout: Checkout, home: Path) -> "Workshop":
        """Open or create the workshop of a checkout; linked work trees share one."""
        workshop = cls(home / "repos" / repository_id(checkout), checkout, checkout.author)
        workshop.tracked_environments = await checkout.list_tracked(ENVIRONMENTS)
        tags = await checkout.git.check_output(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"
        )
        try:
            workshop._create_files()
            # Projects that take their version from tags must find them in a work tree too.
            _write_file(
                workshop.git_dir / "packed-refs", "# pack-refs with: sorted \n" + decode_text(tags)
            )
        except OSError as error:
            what = f"{workshop.folder}: cannot be made: {error.strerror}"
            hint = "point PUNCHLIST_HOME at a folder that can be written"
            raise RepositoryError(what, hint=hint) from error
        return workshop

    @cached_property
    def git(self) -> Git:
        return Git(self.git_dir)

    def sign_as(self, identity: Identity) -> "Workshop":
        """Return the same workshop with another author of commits."""
        other = copy(self)
        other.identity = identity
        return other

    async def list_tree(self, commit: str) -> dict[str, TreeEntry]:
        """Return a commit's entries by path, in git's order; the last few listings are cached."""
        known = self._listings.pop(commit, None)
        if known is None:
            lines = await self.git.list_fields("ls-tree", "-r", "-z", "--full-tree", commit)
            known = {entry.path: entry for entry in map(_parse_entry, lines)}
        self._listings[commit] = known
        while len(self._listings) > _LISTINGS:
            oldest = next(iter(self._listings))
            del self._listings[oldest]
            self._deep.pop(oldest, None)
        return known

    async def list_too_deep(self, commit: str) -> tuple[str, ...]:
        """Return the files of a commit that no work tree has, because their paths are too long."""
        if commit not in self._deep:
            self._deep[commit] = tuple(filter(is_too_deep, await self.list_tree(commit)))
        return self._deep[commit]

    async def read_file(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit; None if it has no regular file of that name."""
        entry = (await self.list_tree(commit)).get(path)
        if entry is None or not entry.regular:
            return None
        return (await self.read_blobs([entry.blob]))[0]

    async def read_blobs(self, names: Sequence[str]) -> list[bytes]:
        """Return the contents of blobs in the given order, by one git process at most; the last
        ones read are cached.
        """
        missing = [name for name in dict.fromkeys(names) if name not in self._blobs]
        fresh = await self._cat_files(missing) if missing else {}
        contents = [fresh[name] if name in fresh else self._blobs[name] for name in names]
        if len(fresh) <= _BLOBS:
            self._blobs |= fresh
            size = sum(map(len, self._blobs.values()))
            while size > _BLOB_BYTES or len(self._blobs) > _BLOBS:
                size -= len(self._blobs.pop(next(iter(self._blobs))))
        return contents

    async def _cat_files(self, names: Sequence[str]) -> dict[str, bytes]:
        wanted = "".join(f"{name}\n" for name in names).encode()
        printed = memoryview(await self.git.check_output("cat-file", "--batch", stdin=wanted))
        contents, position = {}, 0
        for name in names:
            end = position + _header_length(printed, position)
            header = bytes(printed[position:end]).split()
            if len(header) < 3:  # name, kind, size; anything else is git saying "missing"
                raise RepositoryError(
                    f"{self.checkout.root}: git has no object {name}", hint=MISSING
                )
            size = int(header[2])
            contents[name] = bytes(printed[end + 1 : end + 1 + size])
            position = end + size + 2
        return contents

    async def find_tip(self, branch: str) -> str | None:
        name = f"refs/heads/{branch}^{{commit}}"
        return await self.git.find_line("rev-parse", "--verify", "--quiet", name) or None

    async def commit_tree(
        self, tree: str, parents: Sequence[str], message: str, when: str = ""
    ) -> str:
        """Create a commit dated `when`, by default like its parent, so that the same input gives
        the same id.
        """
        when = when or (await self.read_date(parents[0]) if parents else "0")
        names = [part for parent in parents for part in ("-p", parent)]
        env = self.author_environment(f"@{when} +0000")
        return await self.git.read_line("commit-tree", tree, *names, "-m", message, env=env)

    async def read_date(self, commit: str) -> str:
        """Return a commit's date in epoch seconds."""
        return await self.git.read_line("show", "--no-patch", "--format=%ct", commit)

    def author_environment(self, date: str) -> dict[str, str]:
        """Return git's author and committer variables."""
        values = {"NAME": self.identity.name, "EMAIL": self.identity.email, "DATE": date}
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in values.items()
        }

    def _create_files(self) -> None:
        """Create the repository as plain files, which is quicker than `git init`."""
        for name in ("git/objects/info", "git/objects/pack", "git/refs/heads", "git/info", "trees"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        sha256 = self.checkout.object_format == "sha256"
        contents = {
            "config": _CONFIG.format(version=int(sha256), extensions=_SHA256 if sha256 else ""),
            "info/attributes": _ATTRIBUTES,
            "objects/info/alternates": f"{_write_alternate(self.checkout.objects)}\n",
            "HEAD": "ref: refs/heads/none\n",
        }
        for name, content in contents.items():
            _write_file(self.git_dir / name, content)
        _copy_shallow(self.checkout.git_dir / "shallow", self.git_dir / "shallow")


def repository_id(checkout: Checkout) -> str:
    return hash_git_dir(checkout.git_dir)


def hash_git_dir(git_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]


def _parse_entry(line: str) -> TreeEntry:
    facts, _, path = line.partition("\t")
    mode, _, blob = facts.split(" ")
    return TreeEntry(path, mode, blob)


def _header_length(view: memoryview, start: int) -> int:
    """Return the length of the header line at `start`."""
    return bytes(view[start : start + 256]).index(b"\n")


def _write_file(path: Path, content: str) -> None:
    """Write atomically, and only if the content differs: another run may be reading."""
    raw = os.fsencode(content)
    if is_file(path) and path.read_bytes() == raw:
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(raw)
    part.replace(path)


def _copy_shallow(source: Path, target: Path) -> None:
    """Copy the shallow file of the user's repository, or delete ours."""
    if is_file(source):
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        shutil.copyfile(source, part)
        part.replace(target)
    else:
        target.unlink(missing_ok=True)


def _write_alternate(path: Path) -> str:
    """Return a path as git's alternates file needs it."""
    raw = str(path)
    return quote_path(raw) if raw.startswith('"') or "\n" in raw else raw
