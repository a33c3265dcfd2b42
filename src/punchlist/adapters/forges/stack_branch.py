"""The branch of ours with the fixes of a pull request, in the remote repository."""

from collections.abc import Collection, Mapping

from punchlist.adapters.forges.pull_commits import REMOTE, fetch_commits
from punchlist.adapters.git.command import Git, decode_text, error_text
from punchlist.adapters.git.remotes import call_remote
from punchlist.errors import RepositoryError
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.stack import name_branch

_ALONE = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
"""What the user's settings add to a push of theirs is not pushed."""


class StackBranch:
    """`login`: variables for git (see Forge)."""

    def __init__(self, git: Git, pull: PullRequest, login: Mapping[str, str]) -> None:
        self._git = git
        self._pull = pull
        self._login = login
        self._ref = f"refs/heads/{name_branch(pull.number)}"
        self._noted = f"refs/punchlist/pull/{pull.number}/pushed"

    async def read_tip(self) -> str:
        await self._require_remote()
        asked = ("ls-remote", "--quiet")
        ran = await call_remote(self._git, asked, REMOTE, (self._ref,), self._login)
        if not ran.ok:
            raise RepositoryError(f"{self._pull.url}: git ls-remote failed: {error_text(ran)}")
        # Git also lists branches whose names end so.
        lines = (line.split("\t") for line in decode_text(ran.stdout).splitlines())
        return next((tip for tip, ref in lines if ref == self._ref), "")

    async def is_ours(self, tip: str, known: Collection[str]) -> bool:
        """By the hash of the commit: people who change a commit of ours may keep all of its text.
        What the pull request has already is not lost either, if the branch was ours before.
        """
        noted = await self._git.find_line("rev-parse", "--verify", "--quiet", self._noted)
        if tip in (*known, noted):
            return True
        if not known:
            return False
        refs = (f"+{self._ref}:refs/punchlist/pull/{self._pull.number}/stack",)
        await fetch_commits(self._git, self._pull.url, (tip,), refs, self._login)
        return await self._git.is_ancestor(tip, self._pull.head)

    async def push(self, tip: str, old: str) -> str:
        # Noted before: a process that is killed after the push knows the commit again.
        await self._git.check_output("update-ref", self._noted, tip)
        return await self._push(old, f"{tip}:{self._ref}")

    async def delete(self, tip: str) -> str:
        return await self._push(tip, f":{self._ref}")

    async def _push(self, old: str, refspec: str) -> str:
        """Push if the remote branch is still where it was seen."""
        lease = f"--force-with-lease={self._ref}:{old}"
        command = ("push", *_ALONE, lease)
        ran = await call_remote(self._git, command, REMOTE, (refspec,), self._login)
        return "" if ran.ok else error_text(ran)

    async def _require_remote(self) -> None:
        """Raise RepositoryError if what is pushed would go to another repository."""
        ran = await self._git.run("remote", "get-url", "--push", REMOTE)
        place = decode_text(ran.stdout).strip().removesuffix("/").removesuffix(".git")
        name = self._pull.repository
        if not place.casefold().endswith((f"/{name}".casefold(), f":{name}".casefold())):
            hint = f"git remote set-url {REMOTE} to the address of {name}"
            what = f"the remote {REMOTE} is not {name}: nothing is pushed"
            raise RepositoryError(what, hint=hint)
