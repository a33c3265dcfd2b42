"""The workshop: a bare repository of our own that borrows the user's objects, so that work happens
outside of theirs.
"""

import hashlib
import os
import shutil
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

from punchlist.adapters.git.checkout import Checkout, Identity
from punchlist.adapters.git.command import MISSING, Entry, Git, fields, text_of
from punchlist.errors import RepositoryError

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
_LISTINGS = 8


class Workshop:
    """What belongs to one user repository in punchlist's state folder: `git` (objects and branches)
    and `trees`.
    """

    def __init__(self, folder: Path, checkout: Checkout, identity: Identity) -> None:
        self.folder = folder
        self.checkout = checkout
        self.identity = identity
        self.git_dir = folder / "git"
        self.trees = folder / "trees"
        self._listings: dict[str, dict[str, Entry]] = {}

    @classmethod
    async def open(cls, checkout: Checkout, home: Path) -> "Workshop":
        """The workshop of a checkout, made if it is not there; linked work trees of one repository
        share one.
        """
        workshop = cls(
            home / "repos" / repository_id(checkout), checkout, await checkout.identity()
        )
        tags = await checkout.git.out(
            "for-each-ref", "--format=%(objectname) %(refname)", "refs/tags"
        )
        try:
            workshop._make()
            # Projects that take their version from tags must find them in a work tree too.
            _write(workshop.git_dir / "packed-refs", "# pack-refs with: sorted \n" + text_of(tags))
        except OSError as error:
            hint = "point PUNCHLIST_HOME at a folder that can be written"
            raise RepositoryError(
                f"{workshop.folder}: cannot be made: {error.strerror}", hint=hint
            ) from error
        return workshop

    @cached_property
    def git(self) -> Git:
        return Git(self.git_dir)

    async def listing(self, commit: str) -> dict[str, Entry]:
        """Everything a commit holds, by path, in git's order; kept for the commits
        last asked for.
        """
        known = self._listings.pop(commit, None)
        if known is None:
            known = {
                entry.path: entry
                for entry in _entries(
                    await self.git.out("ls-tree", "-r", "-z", "--full-tree", commit)
                )
            }
        self._listings[commit] = known
        while len(self._listings) > _LISTINGS:
            del self._listings[next(iter(self._listings))]
        return known

    async def blobs(self, names: Sequence[str]) -> list[bytes]:
        """The contents of blobs, in the order asked for, by one git process."""
        if not names:
            return []
        printed = memoryview(
            await self.git.out(
                "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()
            )
        )
        contents, position = [], 0
        for name in names:
            end = position + _line_length(printed, position)
            header = bytes(printed[position:end]).split()
            if len(header) < 3:  # name, kind, size; anything else is git saying "missing"
                raise RepositoryError(
                    f"{self.checkout.root}: git has no object {name}", hint=MISSING
                )
            size = int(header[2])
            contents.append(bytes(printed[end + 1 : end + 1 + size]))
            position = end + size + 2
        return contents

    async def tip(self, branch: str) -> str | None:
        ran = await self.git.ran(
            "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}"
        )
        return ran.stdout.decode().strip() if ran.ok else None

    async def record(self, tree: str, parents: Sequence[str], message: str) -> str:
        """A commit of a tree, dated like its parent, so that the same input always has the same
        name.
        """
        when = (
            await self.git.line("show", "--no-patch", "--format=%ct", parents[0])
            if parents
            else "0"
        )
        names = [part for parent in parents for part in ("-p", parent)]
        return await self.git.line(
            "commit-tree", tree, *names, "-m", message, env=self.signature(f"@{when} +0000")
        )

    def signature(self, date: str) -> dict[str, str]:
        """Who makes commits, and when, as git wants to be told."""
        said = {"NAME": self.identity.name, "EMAIL": self.identity.email, "DATE": date}
        return {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in said.items()
        }

    def _make(self) -> None:
        """Plain files and folders are a repository; writing them is quicker than `git init`, and
        says exactly what it has.
        """
        for name in ("git/objects/info", "git/objects/pack", "git/refs/heads", "git/info", "trees"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        sha256 = self.checkout.object_format == "sha256"
        _write(
            self.git_dir / "config",
            _CONFIG.format(version=int(sha256), extensions=_SHA256 if sha256 else ""),
        )
        _write(self.git_dir / "info/attributes", _ATTRIBUTES)
        _write(self.git_dir / "objects/info/alternates", f"{_quoted(self.checkout.objects)}\n")
        _write(self.git_dir / "HEAD", "ref: refs/heads/none\n")
        _mirror(self.checkout.git_dir / "shallow", self.git_dir / "shallow")


def repository_id(checkout: Checkout) -> str:
    return id_of(checkout.git_dir)


def id_of(git_dir: Path) -> str:
    return hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]


def _entries(raw: bytes) -> Iterable[Entry]:
    for line in fields(raw):
        facts, _, path = line.partition("\t")
        mode, _, blob = facts.split(" ")
        yield Entry(path, mode, blob)


def _line_length(view: memoryview, start: int) -> int:
    """The length of a header line; headers are short, so that the bytes looked at stay few."""
    return bytes(view[start : start + 256]).index(b"\n")


def _write(path: Path, content: str) -> None:
    """Whole or not at all, and only where something changes: another run may be reading."""
    raw = os.fsencode(content)
    if path.is_file() and path.read_bytes() == raw:
        return
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(raw)
    part.replace(path)


def _mirror(source: Path, target: Path) -> None:
    """A shallow repository's list of where its history ends; ours must end in the same places."""
    if source.is_file():
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        shutil.copyfile(source, part)
        part.replace(target)
    else:
        target.unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    """A path in git's alternates file, where a leading quote or a line break must be escaped."""
    raw = str(path)
    if raw.startswith('"') or "\n" in raw:
        return '"' + raw.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return raw
