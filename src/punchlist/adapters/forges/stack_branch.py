"""The branch of ours with the fixes of a pull request, in the remote repository."""

import re
from collections.abc import Mapping

from punchlist.adapters.forges.pull_commits import NETWORK, REMOTE, fetch_commits
from punchlist.adapters.git.command import Git, decode_text, error_text
from punchlist.adapters.process.run import named_environment
from punchlist.errors import RepositoryError
from punchlist.model.ledger.commit_trailers import read_trailers
from punchlist.views.pulls.conversation import PullRequest
from punchlist.views.pulls.stack import name_branch

_PEOPLE = re.compile(r"^(author|committer) (.*)$", re.MULTILINE)


class StackBranch:
    """`login`: variables for git (see Forge)."""

    def __init__(self, git: Git, pull: PullRequest, login: Mapping[str, str]) -> None:
        self._git = git
        self._pull = pull
        self._login = login
        self._env = {**named_environment(NETWORK), **login}
        self._ref = f"refs/heads/{name_branch(pull.number)}"

    async def read_tip(self) -> str:
        ran = await self._git.run("ls-remote", "--quiet", REMOTE, self._ref, env=self._env)
        if not ran.ok:
            raise RepositoryError(f"{self._pull.url}: git ls-remote failed: {error_text(ran)}")
        return decode_text(ran.stdout).partition("\t")[0].strip()

    async def is_ours(self, tip: str) -> bool:
        """A commit of others stands on top of ours, or has other dates and names if ours was
        changed; so the last one tells.
        """
        refs = (f"+{self._ref}:refs/punchlist/pull/{self._pull.number}/stack",)
        await fetch_commits(self._git, self._pull.url, (tip,), refs, self._login)
        if await self._git.is_ancestor(tip, self._pull.head):
            return True
        return is_own_commit(decode_text(await self._git.check_output("cat-file", "commit", tip)))

    async def push(self, tip: str, old: str) -> str:
        return await self._push(old, f"{tip}:{self._ref}")

    async def delete(self, tip: str) -> str:
        return await self._push(tip, f":{self._ref}")

    async def _push(self, old: str, refspec: str) -> str:
        """Push if the remote branch is still where it was seen."""
        lease = f"--force-with-lease={self._ref}:{old}"
        push = ("push", "--quiet", "--no-verify", lease, REMOTE, refspec)
        ran = await self._git.run(*push, env=self._env)
        return "" if ran.ok else error_text(ran)


def is_own_commit(raw: str) -> bool:
    """Return whether punchlist made a commit: it is of a run, and its author committed it, at the
    same second. Amended, rebased or picked by others it is theirs.
    """
    head, _, message = raw.partition("\n\n")
    people = dict(_PEOPLE.findall(head))
    same = people.get("author") is not None and people.get("author") == people.get("committer")
    return same and bool(read_trailers(message).run)
