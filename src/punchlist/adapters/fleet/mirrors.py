"""A worker's own clones: commits are fetched by name, and the clones used least are removed."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

from punchlist.adapters.folders.look import path_exists, resolve_path
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.git.command import Git, error_text
from punchlist.adapters.git.remotes import call_remote
from punchlist.adapters.git.workshop import hash_git_dir
from punchlist.adapters.process.run import ProcessResult
from punchlist.errors import RepositoryError, StoreError

_QUIET = ("--quiet", "--no-auto-maintenance", "--no-write-fetch-head", "--no-recurse-submodules")
_FETCH = ("fetch", *_QUIET, "--tags", "--force")
_HEADS = "+refs/heads/*:refs/remotes/origin/*"


class Mirrors:
    """The clones below a home that no other process uses: at most `most`, if not more are in use
    at once. With a clone goes the workshop that borrows its objects.
    """

    def __init__(self, home: Path, most: int) -> None:
        self._home = home
        self._folder = home / "mirrors"
        self._most = most
        self._turns: dict[str, asyncio.Lock] = {}
        self._used: Counter[str] = Counter()

    @asynccontextmanager
    async def open_mirror(
        self, source: str, commits: Sequence[str], *, at_head: bool = False
    ) -> AsyncIterator[Path]:
        """Lend a clone of the source that has these commits; the last is its HEAD at first, and
        with `at_head` from now on.
        """
        name = sha256(os.fsencode(source)).hexdigest()[:16]
        folder = self._folder / name
        self._used[name] += 1
        try:
            async with self._turns.setdefault(name, asyncio.Lock()):
                await _bring_commits(folder, source, commits)
                if at_head:
                    await _set_head(folder, commits[-1])
            os.utime(folder)
            await asyncio.to_thread(self._evict)
            yield folder
        finally:
            self._used[name] -= 1

    def _evict(self) -> None:
        """Remove the clones used least, if there are more than may be."""
        there = sorted(self._folder.iterdir(), key=lambda each: each.stat().st_mtime)
        idle = [each for each in there if not self._used[each.name]]
        for each in idle[: max(0, len(there) - self._most)]:
            workshop = self._home / "repos" / hash_git_dir(resolve_path(each / ".git"))
            remove_folder(workshop)
            remove_folder(each)


async def _bring_commits(folder: Path, source: str, commits: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    git = open_remote(folder)
    if not path_exists(folder / ".git" / "config"):
        await _check(git, "init", "--quiet")
    await _check(git, "config", "remote.origin.url", source)
    wanted = list(dict.fromkeys(commits))
    if missing := [each for each in wanted if not await _has_commit(git, each)]:
        ran = await call_remote(git, _FETCH, source, missing)
        if not ran.ok:  # a server that gives no commit by its name
            _require(await call_remote(git, _FETCH, source, (_HEADS,)), "fetch")
        if gone := [each for each in missing if not await _has_commit(git, each)]:
            raise RepositoryError(
                f"{source}: has no commit {gone[0][:12]}",
                hint="push it there, or queue the run again from where it is",
            )
    if not (await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")).ok:
        await _set_head(folder, wanted[-1])


async def _set_head(folder: Path, commit: str) -> None:
    await _check(open_remote(folder), "update-ref", "--no-deref", "HEAD", commit)


async def find_head(home: Path, source: str, branch: str) -> str:
    """Return the commit of a branch at a source, or ''. Raise StoreError."""
    # Without a repository: around the home may be one of the user's.
    git = Git(home, theirs=True, git_dir=home / "no-repository")
    listed = await run_remote(git, ("ls-remote",), source, f"refs/heads/{branch}")
    return listed.decode().partition("\t")[0].strip()


def open_remote(folder: Path) -> Git:
    """Return git with the configuration of the worker's user, who may have logins for a remote. The
    folder is one that punchlist made.
    """
    return Git(folder, theirs=True)


async def run_remote(git: Git, command: Sequence[str], source: str, *refs: str) -> bytes:
    """Run a command that talks to a remote; return its output. Raise StoreError: what other workers
    must find could not be left there, or could not be looked for.
    """
    try:
        return _require(await call_remote(git, command, source, refs), command[0])
    except RepositoryError as error:
        raise StoreError(str(error), hint=error.hint) from error


async def _check(git: Git, *arguments: str) -> bytes:
    return _require(await git.run(*arguments), arguments[0])


def _require(ran: ProcessResult, command: str) -> bytes:
    """Return the output; raise RepositoryError if the command failed."""
    if not ran.ok:
        raise RepositoryError(
            f"git {command} failed: {error_text(ran)}",
            hint="see that this machine can reach the repository",
        )
    return ran.stdout


async def _has_commit(git: Git, commit: str) -> bool:
    return (await git.run("cat-file", "-e", f"{commit}^{{commit}}")).ok
