"""The commits of a pull request: fetch them, compare them, push fixes."""

from collections.abc import Iterable, Mapping, Sequence

from punchlist.adapters.git.command import Git, decode_text, error_text
from punchlist.adapters.git.remotes import call_remote
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.model.patch.parse_diff import parse_diff, parse_hunks
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.suggestion import FixedFile

REMOTE = "origin"
_ONLY = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--quiet")
_TEXT = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_FIXES = 60
"""Fixes that are looked at for suggestions."""


async def fetch_pull(git: Git, pull: PullRequest, login: Mapping[str, str]) -> None:
    """Fetch base and head into the user's repository, below refs/punchlist, if it lacks them.
    `login`: variables for git (see Forge). Raise RepositoryError if the remote does not have them.
    """
    refs = (
        f"+{pull.ref}:refs/punchlist/pull/{pull.number}/head",
        f"+refs/heads/{pull.base_name}:refs/punchlist/pull/{pull.number}/base",
    )
    await fetch_commits(git, pull.url, (pull.base, pull.head), refs, login)


async def fetch_commits(
    git: Git,
    what: str,
    commits: Sequence[str],
    refs: Sequence[str] = (),
    login: Mapping[str, str] | None = None,
) -> None:
    """Fetch commits that the user's repository lacks, with these refs. Raise RepositoryError,
    beginning with `what`, if the remote does not have them.
    """
    missing = [name for name in commits if not await has_commit(git, name)]
    if not missing:
        return
    ran = await call_remote(git, ("fetch", *_ONLY), REMOTE, refs, login)
    still = [name for name in missing if not await has_commit(git, name)]
    if not ran.ok or still:
        why = error_text(ran) if not ran.ok else f"the remote has no commit {still[0][:12]}"
        hint = f"git fetch {REMOTE}, then try again"
        raise RepositoryError(f"{what}: its commits cannot be fetched: {why}", hint=hint)


async def has_commit(git: Git, name: str) -> bool:
    return (await git.run("cat-file", "-e", f"{name}^{{commit}}")).ok


async def has_same_tree(git: Git, one: str, two: str) -> bool:
    """Return whether two commits have the same files."""
    first, second = [await git.find_line("rev-parse", f"{each}^{{tree}}") for each in (one, two)]
    return bool(first) and first == second


async def read_pull_diff(workshop: Workshop, base: str, head: str) -> str:
    """Return the diff that forges show: from the merge base to the head."""
    raw = await workshop.git.check_output(
        "diff", "--find-renames", "-U3", *_TEXT, f"{base}...{head}", "--"
    )
    return decode_text(raw)


async def push_fixes(git: Git, pull: PullRequest, tip: str, login: Mapping[str, str]) -> str:
    """Push the fixes to the pull request's branch, never with force; return why it failed, or "".
    `login`: variables for git (see Forge).
    """
    remote = REMOTE
    if pull.push_to:
        # The fork is beside the repository: no address that a forge names is pushed to.
        ran = await git.run("remote", "get-url", "--push", REMOTE)
        ours = decode_text(ran.stdout).strip().removesuffix("/").removesuffix(".git")
        if not ours.endswith(pull.repository):
            return f"the remote {REMOTE} is not {pull.repository}, so the fork cannot be found"
        remote = f"{ours.removesuffix(pull.repository)}{pull.push_to}.git"
    refspec = f"{tip}:refs/heads/{pull.head_name}"
    ran = await call_remote(git, ("push", "--quiet", "--no-verify"), remote, (refspec,), login)
    return "" if ran.ok else error_text(ran)


class FixFinder:
    """Looks for fixes of runs in a pull request's commits."""

    def __init__(self, workshop: Workshop, base: str, head: str) -> None:
        self._workshop = workshop
        self._span = (base, head)
        self._patches: frozenset[str] | None = None

    async def has_fix(self, commit: str) -> bool:
        """Return whether the head has the commit, or one with the same change: a rebase gives it
        another name.
        """
        git, (_, head) = self._workshop.git, self._span
        if not commit or not await has_commit(git, commit):
            return False
        if await git.is_ancestor(commit, head):
            return True
        return await self._has_patch(await self._hash_patches("log", f"{commit}^..{commit}"))

    async def has_squashed(self, since: str, tip: str) -> bool:
        """Return whether the head has all changes since a commit in one: a squash merge."""
        git = self._workshop.git
        known = [bool(each) and await has_commit(git, each) for each in (since, tip)]
        return all(known) and await self._has_patch(await self._hash_patches("diff", since, tip))

    async def _has_patch(self, patches: frozenset[str]) -> bool:
        if self._patches is None:
            self._patches = await self._hash_patches("log", "{}..{}".format(*self._span))
        return not self._patches.isdisjoint(patches)

    async def _hash_patches(self, command: str, *span: str) -> frozenset[str]:
        git = self._workshop.git
        flags = ("-p", "--full-index", *_TEXT, *(["--no-merges"] if command == "log" else []))
        printed = await git.run(command, *flags, *span, "--")
        if not printed.ok:
            return frozenset()
        hashed = await git.run("patch-id", "--stable", stdin=printed.stdout)
        return frozenset(line.split()[0] for line in decode_text(hashed.stdout).splitlines())


async def read_fixes(workshop: Workshop, commits: Iterable[str], head: str) -> dict[str, FixedFile]:
    """Return by commit the one file that it changes, as suggestions need it; commits that change
    more are left out.
    """
    found = {}
    for commit in list(dict.fromkeys(commits))[:_FIXES]:
        if file := await _read_fix(workshop, commit, head):
            found[commit] = file
    return found


async def _read_fix(workshop: Workshop, commit: str, head: str) -> FixedFile | None:
    git, before = workshop.git, f"{commit}^"
    fields = await git.run("diff-tree", "-r", "-z", "--name-status", "--no-renames", before, commit)
    parts = decode_text(fields.stdout).split("\0")[:-1] if fields.ok else []
    if len(parts) != len(("status", "path")) or parts[0] != "M":
        return None
    path = parts[1]
    parent = await git.read_line("rev-parse", before)
    now, old, new = [await workshop.read_file(each, path) for each in (head, parent, commit)]
    if now is None or old is None or new is None:
        return None
    diff = await git.check_output("diff", "-U0", *_TEXT, parent, head, "--", path)
    moves = tuple(hunk for file in parse_diff(decode_text(diff)) for hunk in parse_hunks(file.body))
    try:
        return FixedFile(path, now.decode(), old.decode(), new.decode(), moves)
    except UnicodeDecodeError:
        return None
