"""The git command line, started in one way: no hooks, no prompts, no configuration that was not
asked for.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.process.run import Ran, base_environment, run, which
from punchlist.errors import RepositoryError, StoreError

OLDEST = (2, 32)
"""The first git that can be told to leave the user's global configuration alone
(GIT_CONFIG_GLOBAL).
"""

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
    "protocol.file.allow=always",
)


class Entry(Struct, frozen=True):
    """One line of a commit's listing."""

    path: str
    mode: str
    blob: str

    @property
    def regular(self) -> bool:
        return self.mode in REGULAR


class Git:
    """Git in one folder. `theirs` lets the user's own configuration speak; without it only the
    repository's does.
    """

    def __init__(
        self,
        folder: Path,
        *,
        theirs: bool = False,
        git_dir: Path | None = None,
        settings: tuple[str, ...] = (),
    ) -> None:
        self.folder = folder
        self._environment = {
            **base_environment(home=theirs),
            **_QUIET,
            **({} if theirs else _OURS_ONLY),
        }
        flags = [part for setting in (*_SETTINGS, *settings) for part in ("-c", setting)]
        place = (
            ["--git-dir", str(git_dir), "--work-tree", str(folder)]
            if git_dir
            else ["-C", str(folder)]
        )
        self._command = ["git", "--literal-pathspecs", *flags, *place]

    async def ran(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> Ran:
        """What came of one git command, failed or not."""
        environment = {**self._environment, **(env or {})}
        return await run(
            [*self._command, *arguments],
            cwd=self._cwd(),
            env=environment,
            stdin=stdin,
            limit=_LIMIT,
        )

    async def out(
        self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> bytes:
        """What git printed; a failure is an error that carries git's own words."""
        ran = await self.ran(*arguments, stdin=stdin, env=env)
        if not ran.ok:
            # A full disk is no answer: the run stops here, and goes on when there is room.
            kind = StoreError if _FULL in ran.stderr else RepositoryError
            raise kind(f"{self.folder}: git {arguments[0]} failed: {said(ran)}", hint=_hint(ran))
        return ran.stdout

    async def line(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        """One printed line without its end; the path it may be can hold anything else."""
        return text_of((await self.out(*arguments, env=env)).removesuffix(b"\n"))

    async def has(self, *arguments: str) -> bool:
        return (await self.ran(*arguments)).ok

    def _cwd(self) -> Path:
        return self.folder if self.folder.is_dir() else Path("/")


def text_of(raw: bytes) -> str:
    """Bytes as text that turns back into the same bytes, whatever they are."""
    return raw.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def fields(raw: bytes) -> Iterator[str]:
    """The fields of git's -z output."""
    return map(text_of, raw.split(b"\0")[:-1])


def said(ran: Ran) -> str:
    """A failure in git's own words, short."""
    words = text_of(ran.stderr).encode("utf-8", "backslashreplace").decode().strip()
    return (
        ran.trouble
        or words.removeprefix("fatal: ").removeprefix("error: ")[:2000]
        or f"exit code {ran.exit_code}"
    )


def speakable(path: str) -> bool:
    """Whether a path can stand in JSON; one with bytes that are not UTF-8 cannot."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def shown(path: str) -> str:
    """A path as a person can read it, on one line; odd bytes and control characters are escaped."""
    words = bytes_of(path).decode("utf-8", "backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in words
    )


async def require_git() -> None:
    """Refuses a machine without git, or with one too old to be kept from the
    user's configuration.
    """
    if which("git") is None:
        raise RepositoryError(
            "git is not installed, or not on PATH", hint="install git 2.32 or newer, then try again"
        )
    printed = text_of((await run(["git", "--version"], cwd=Path("/"))).stdout)
    found = re.search(r"(\d+)\.(\d+)", printed)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise RepositoryError(
            f"git is too old: {printed.strip() or 'no version'}", hint="install git 2.32 or newer"
        )


def _hint(ran: Ran) -> str:
    """What usually helps, by what git complained about."""
    words = ran.stderr + ran.trouble.encode()
    return next((hint for clue, hint in _HINTS.items() if clue in words), "")


_FULL = b"No space left"
_HINTS = {
    _FULL: "free some disk space, then: punchlist resume last",
    b"Read-only file system": "point PUNCHLIST_HOME at a folder that can be written",
    b"Permission denied": (
        "point PUNCHLIST_HOME at a folder that can be written, or check the repository's"
        " permissions"
    ),
    b"index.lock": "another git process is at work here, or died; look at the lock file git names",
    b"promisor": MISSING,
    b"missing": MISSING,
    b"unable to read": MISSING,
    b"Not a valid commit": (
        "the commit under review is gone from the repository (git gc after a rebase?); start a"
        " new run"
    ),
    b"corrupt": "the repository is damaged; look at: git fsck",
}
