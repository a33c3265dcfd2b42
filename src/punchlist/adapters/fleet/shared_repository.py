"""The repository of a run that several workers may drive, one after the other.

What a worker commits is pushed to the place that all of them fetch from, and is looked for there
before anything is committed. A push names the value that it replaces, so that it cannot undo what
another worker did, and it is made only by the worker that has the run.
"""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import Struct

from punchlist.adapters.fleet.mirrors import open_remote, run_remote
from punchlist.adapters.git.command import decode_text
from punchlist.adapters.git.repository import PREFIX, GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.errors import RepositoryError
from punchlist.ports.repository import Draft

_QUIET = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")


class MeetingPlace(Struct, frozen=True):
    """Where workers leave commits for each other. `confirm` raises RunTaken if the run is not
    this worker's any more.
    """

    source: str
    confirm: Callable[[], None]


class SharedRepository(GitRepository):
    place: MeetingPlace

    async def commit_chain(
        self, branch: str, parent: str, commits: Sequence[Draft], action: str
    ) -> tuple[str, ...]:
        """Create one commit per draft, all or none, and push them."""
        made = await super().commit_chain(branch, parent, commits, action)
        if made:
            await self._push(_draft_ref(branch), made[-1], {"", parent})
        return made

    async def publish(self, branch: str, *, tip: str = "", replaces: str = "") -> None:
        """Bring the branch, or its arranged `tip`, into this worker's clone, and push it."""
        await super().publish(branch, tip=tip, replaces=replaces)
        made = tip or await self._workshop.find_tip(branch) or ""
        await self._push(f"refs/heads/{branch}", made, {"", replaces})

    async def _push(self, ref: str, tip: str, known: set[str]) -> None:
        await asyncio.to_thread(self.place.confirm)
        git, source = open_remote(self._workshop.git_dir), self.place.source
        listed = decode_text(await run_remote(git, ("ls-remote",), source, ref))
        theirs = listed.partition("\t")[0].strip()
        if theirs == tip:
            return
        if theirs not in known and not await self._workshop.git.is_ancestor(theirs, tip):
            raise RepositoryError(
                f"{ref}: {source} has commits there that are not of this run",
                hint="rename that branch, then resume the run",
            )
        lease = f"--force-with-lease={ref}:{theirs}"
        await run_remote(git, ("push", "--quiet", lease), source, f"{tip}:{ref}")


async def bring_branch(workshop: Workshop, source: str, run: str) -> None:
    """Fetch what other workers committed and published of a run, if they did."""
    branch = f"{PREFIX}{run}"
    published = f"refs/heads/{branch}"
    drafts = _draft_ref(branch)
    git = open_remote(workshop.git_dir)
    listed = decode_text(await run_remote(git, ("ls-remote",), source, drafts, published))
    there = {line.partition("\t")[2] for line in listed.splitlines()}
    if drafts in there:
        await run_remote(git, ("fetch", *_QUIET), source, f"+{drafts}:{published}")
    if published in there:
        mirror = workshop.checkout.user_git
        await run_remote(mirror, ("fetch", *_QUIET), source, f"+{published}:{published}")


def _draft_ref(branch: str) -> str:
    """Return the ref of a run's commits as they were proven; their branch has them arranged."""
    return f"refs/punchlist-drafts/{branch.removeprefix(PREFIX)}"
