"""Issues on GitHub: one per item, found again by its fingerprint, whatever happens
to the requests.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from punchlist.adapters.git.command import Git
from punchlist.adapters.trackers.github.deduplicate import Board, declined, fitted
from punchlist.adapters.trackers.github.issues_api import Draft, Issue, Issues
from punchlist.adapters.trackers.github.remote import named, origin, parsed, web_host
from punchlist.adapters.trackers.github.rest import Lost, Refused, Rest, checked
from punchlist.adapters.trackers.github.retry import Pacing, Unavailable
from punchlist.errors import ToolError
from punchlist.model.item.item import Status
from punchlist.ports.tracker import Filing
from punchlist.views.issue_text import Dossier

_HOPELESS = frozenset({403, 404, 410})
"""Refusals that every other issue would meet, too: no permission, no repository, no issues."""


class Place(Struct, frozen=True, kw_only=True):
    """Where issues go. An empty `repository` stands for the one that the remote `origin` names."""

    token: Callable[[str], Awaitable[str]]
    """The token for a host; asked when something is to be filed, and never kept."""
    git: Git
    repository: str = ""
    api: str = "https://api.github.com"
    labels: tuple[str, ...] = ("tech-debt",)


class GithubTracker:
    """What fails is told per item, and stays to be filed; nothing is raised for
    what GitHub does.
    """

    name = "github"

    def __init__(self, place: Place, pacing: Pacing | None = None) -> None:
        self._place = place
        self._pacing = pacing or Pacing()

    async def file(self, dossiers: Sequence[Dossier]) -> Sequence[Filing]:
        done = {
            each.item.number: _never(each) for each in dossiers if each.item.status is Status.FIXED
        }
        wanted = [each for each in dossiers if each.item.number not in done]
        if wanted:
            why = "nothing was tried"
            try:
                async with self._opened() as (issues, rest):
                    board = Board(issues, rest.patience, await issues.viewer())
                    await board.look(
                        {each.item.fingerprint for each in wanted}, "".join(self._place.labels[:1])
                    )
                    await _Sitting(board, issues, self._place.labels, done).file(wanted)
            except ToolError as error:
                why = _told(error)
            done = {
                each.item.number: Filing(item=each.item.number, failed=why) for each in wanted
            } | done
        return [done[each.item.number] for each in dossiers]

    def close(self, fingerprints: Collection[str], by: str, why: str) -> None:
        """Unsupported: issues on GitHub are closed there."""

    def reopen(self, fingerprints: Collection[str]) -> None:
        """Unsupported, as `close` is."""

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[Issues, Rest]]:
        api = checked(self._place.api)
        host = web_host(api)
        repository = (
            named(self._place.repository)
            if self._place.repository
            else parsed(await origin(self._place.git), host)
        )
        async with Rest(self._place.api, await self._place.token(host), self._pacing) as rest:
            yield await Issues.open(rest, repository), rest


class _Sitting:
    """One round of filing. `done` is filled as it goes: what is in there when something breaks is
    done all the same.
    """

    def __init__(
        self, board: Board, issues: Issues, labels: tuple[str, ...], done: dict[int, Filing]
    ) -> None:
        self._board = board
        self._issues = issues
        self._labels = labels
        self._done = done
        self._labelled: set[str] = set()
        self._added = False

    async def file(self, dossiers: Sequence[Dossier]) -> None:
        try:
            for dossier in dossiers:
                self._done[dossier.item.number] = await self._tried(dossier)
        except Unavailable:
            await self._settled(dossiers)
            raise
        await self._settled(dossiers)

    async def _tried(self, dossier: Dossier) -> Filing:
        """What is wrong with one is no reason to leave out the others, unless it would be wrong
        with each of them.
        """
        try:
            return _filed(dossier, await self._one(dossier))
        except Refused as refused:
            if refused.status in _HOPELESS:
                raise Unavailable(str(refused)) from refused
            return Filing(item=dossier.item.number, failed=_told(refused))
        except Lost as lost:
            return Filing(item=dossier.item.number, failed=_told(lost))

    async def _one(self, dossier: Dossier) -> Issue:
        standing = self._board.of(dossier.item.fingerprint)
        if standing.open:
            return standing.open[0]
        if standing.closed:
            return await self._back(standing.closed[-1], dossier)
        labels = tuple(dict.fromkeys((*self._labels, str(dossier.item.severity))))
        for label in labels:
            if label not in self._labelled:
                self._labelled.add(label)
                await self._issues.label(label)
        self._added = True
        return await self._board.add(
            Draft(dossier.title, fitted(dossier.body), labels), dossier.item.fingerprint
        )

    async def _back(self, issue: Issue, dossier: Dossier) -> Issue:
        """Closed as done, and here again: it is not done. Closed as not planned is a person's word,
        and stays.
        """
        if declined(issue):
            return issue
        try:
            return await self._board.reopen(issue, dossier.item, dossier.run)
        except Refused as refused:
            raise Lost(
                f"{issue.html_url} is closed, and cannot be opened again: {refused}"
            ) from refused

    async def _settled(self, dossiers: Sequence[Dossier]) -> None:
        """Somebody else may have filed the same meanwhile, and a request that seemed lost may have
        arrived.
        """
        fingerprints = {each.item.fingerprint: each for each in dossiers}
        with suppress(ToolError):  # every filing says already what is known of it
            if self._added:
                await self._board.look_again()
            await self._board.tidy(fingerprints)
        for dossier in dossiers:
            if found := self._board.of(dossier.item.fingerprint).open:
                self._done[dossier.item.number] = _filed(dossier, found[0])


def _filed(dossier: Dossier, issue: Issue) -> Filing:
    return Filing(item=dossier.item.number, ref=issue.html_url)


def _never(dossier: Dossier) -> Filing:
    return Filing(item=dossier.item.number, failed="it is fixed; there is nothing to file")


def _told(error: ToolError) -> str:
    return f"{error}{f'; {error.hint}' if error.hint else ''}"
