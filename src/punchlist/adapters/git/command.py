"""Run git in one way: no hooks, no prompts, no unwanted configuration."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import is_folder
from punchlist.adapters.process.run import Origin, ProcessResult, base_environment, run, which
from punchlist.errors import DiskFull, RepositoryError

OLDEST = (2, 32)
"""The first git that knows GIT_CONFIG_GLOBAL."""

EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
REGULAR = frozenset({"100644", "100755"})
LINK = "120000"
SUBMODULE = "160000"

MISSING = (
    "objects are missing: in a partial clone get them with git fetch --refetch --no-filter; else"
    " look at git fsck"
)

_LIMIT = 1 << 30
_QUIET = {
    "LC_ALL": "C",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "file",
}
_OURS_ONLY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "HOME": "/nonexistent",
}
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "core.alternateRefsCommand=true",
)
"""What the user's own configuration must not change. The repository's is not read at all."""
_DIFFS = frozenset({"diff", "log", "show"})
_NO_PROGRAMS = ("--no-ext-diff", "--no-textconv")


class TreeEntry(Struct, frozen=True):
    """One entry of a commit's listing."""

    path: str
    mode: str
    blob: str

    @property
    def regular(self) -> bool:
        return self.mode in REGULAR


class Git:
    """Git in one folder. `theirs` uses the user's configuration too, not only the repository's.

    Without `git_dir` the folder must be a repository that punchlist made. A repository of the
    user's is read with `common_dir`, a folder that stands for its own (see clean_view).
    """

    def __init__(
        self,
        folder: Path,
        *,
        theirs: bool = False,
        git_dir: Path | None = None,
        common_dir: Path | None = None,
        unused: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self.unused = unused
        """Settings of the repository about remotes that are not passed on."""
        own = {} if theirs else _OURS_ONLY
        common = {"GIT_COMMON_DIR": str(common_dir)} if common_dir else {}
        self._environment = {**base_environment(home=theirs), **_QUIET, **own, **common}
        flags = [part for setting in _SETTINGS for part in ("-c", setting)]
        place = ["--git-dir", str(git_dir), "--work-tree"] if git_dir else ["-C"]
        self._command = ["git", "--literal-pathspecs", *flags, *place, str(folder)]

    async def run(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> ProcessResult:
        """Run one git command; a failure is in the result. No program shows differences."""
        if arguments[0] in _DIFFS:
            arguments = (arguments[0], *_NO_PROGRAMS, *arguments[1:])
        return await run(
            [*self._command, *arguments],
            origin=Origin.OURS,
            cwd=self.folder if is_folder(self.folder) else Path("/"),
            env={**self._environment, **(env or {})},
            stdin=stdin,
            limit=_LIMIT,
        )

    async def check_output(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        """Return git's output; raises RepositoryError with git's message.

        If the disk is full, raises DiskFull: the run stops, and goes on when there is room.
        """
        ran = await self.run(*arguments, stdin=stdin, env=env)
        if ran.ok:
            return ran.stdout
        kind = DiskFull if _FULL in ran.stderr else RepositoryError
        what = f"{self.folder}: git {arguments[0]} failed: {error_text(ran)}"
        raise kind(what, hint=_find_hint(ran))

    async def read_line(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """Return one line of output without its end."""
        return decode_text((await self.check_output(*arguments, env=env)).removesuffix(b"\n"))

    async def find_line(self, *arguments: str) -> str:
        """Return one line of output, or '' if git fails."""
        ran = await self.run(*arguments)
        return decode_text(ran.stdout).strip() if ran.ok else ""

    async def list_fields(self, *arguments: str, env: Mapping[str, str] | None = None) -> list[str]:
        """Return the fields of git's -z output."""
        return list(split_fields(await self.check_output(*arguments, env=env)))

    async def is_ancestor(self, old: str, new: str) -> bool:
        return (await self.run("merge-base", "--is-ancestor", old, new)).ok

    async def list_changed(self, old: str, new: str) -> list[str]:
        """Return the paths that differ between two commits."""
        flags = ("-r", "-z", "--name-only", "--no-renames")
        return await self.list_fields("diff-tree", *flags, old, new)


def decode_text(raw: bytes) -> str:
    """Decode bytes losslessly (UTF-8, invalid bytes as surrogates)."""
    return raw.decode("utf-8", "surrogateescape")


def encode_text(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def split_fields(raw: bytes) -> Iterator[str]:
    """Split git's -z output."""
    return map(decode_text, raw.split(b"\0")[:-1])


def error_text(ran: ProcessResult) -> str:
    """Return git's error message, shortened."""
    words = decode_text(ran.stderr).encode("utf-8", "backslashreplace").decode().strip()
    words = words.removeprefix("fatal: ").removeprefix("error: ")[:2000]
    return ran.trouble or words or f"exit code {ran.exit_code}"


def is_utf8(path: str) -> bool:
    """Return whether a path is valid UTF-8, as JSON needs it."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def escape_path(path: str) -> str:
    """Return a path on one line, with invalid bytes and control characters escaped."""
    words = encode_text(path).decode("utf-8", "backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in words
    )


def quote_path(path: str) -> str:
    """Quote a path as git writes it in its files and streams."""
    quoted = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{quoted}"'


_NEW_ENOUGH: set[str] = set()


async def require_git() -> None:
    """Raise RepositoryError if git is missing or older than OLDEST; each program is asked once."""
    hint = "install git 2.32 or newer"
    program = which("git")
    if program is None:
        what = "git is not installed, or not on PATH"
        raise RepositoryError(what, hint=f"{hint}, then try again")
    if program in _NEW_ENOUGH:
        return
    printed = decode_text(
        (await run(["git", "--version"], origin=Origin.OURS, cwd=Path("/"))).stdout
    )
    found = re.search(r"(\d+)\.(\d+)", printed)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise RepositoryError(f"git is too old: {printed.strip() or 'no version'}", hint=hint)
    _NEW_ENOUGH.add(program)


def _find_hint(ran: ProcessResult) -> str:
    """Return the hint for git's error message, or ''."""
    words = ran.stderr + ran.trouble.encode()
    return next((hint for clue, hint in _HINTS.items() if clue in words), "")


_FULL = b"No space left"
_WRITABLE = "point PUNCHLIST_HOME at a folder that can be written"
_COMMIT_GONE = (
    "the commit under review is gone from the repository (git gc after a rebase?); start a new run"
)
_HINTS = {
    _FULL: "free some disk space, then: punchlist resume last",
    b"Read-only file system": _WRITABLE,
    b"Permission denied": f"{_WRITABLE}, or check the repository's permissions",
    b"index.lock": "another git process is at work here, or died; look at the lock file git names",
    b"promisor": MISSING,
    b"missing": MISSING,
    b"unable to read": MISSING,
    b"Not a valid commit": _COMMIT_GONE,
    b"Could not parse object": _COMMIT_GONE,
    b"corrupt": "the repository is damaged; look at: git fsck",
}
