"""A tracker on a forge: one issue per item, also after failed requests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any

from punchlist.adapters.rest.client import RequestRefused, ResponseLost, RestClient
from punchlist.adapters.rest.place import ForgePlace
from punchlist.adapters.rest.retry import Pacing, Unavailable
from punchlist.adapters.trackers.issues.api import Issue, IssueDraft, IssuesApi
from punchlist.adapters.trackers.issues.deduplicate import IssueBoard, fit_body
from punchlist.errors import ToolError
from punchlist.model.item.item import Status
from punchlist.ports.tracker import Filing
from punchlist.views.issue_text import IssueText

_HOPELESS = frozenset({403, 404, 410})
"""Refusals that apply to all issues: no permission, no repository, no issues."""


OpenIssues = Callable[[RestClient, str], Awaitable[IssuesApi]]
"""Finds a repository's issues; raises Unavailable if it takes none."""


class IssueTracker:
    """Failures of filing are returned per item, not raised; failed items can be filed again."""

    def __init__(
        self,
        place: ForgePlace,
        open_issues: OpenIssues,
        labels: tuple[str, ...],
        pacing: Pacing | None = None,
    ) -> None:
        self.name = place.style.kind
        self._place = place
        self._open_issues = open_issues
        self._labels = labels
        self._pacing = pacing or Pacing()

    async def file(self, dossiers: Sequence[IssueText]) -> Sequence[Filing]:
        fixed = [each for each in dossiers if each.item.status is Status.FIXED]
        wanted = [each for each in dossiers if each.item.status is not Status.FIXED]
        refused = "it is fixed; there is nothing to file"
        done = {each.item.number: _fail_filing(each, refused) for each in fixed}
        if wanted:
            why = "nothing was tried"
            try:
                fingerprints = {each.item.fingerprint for each in wanted}
                async with self._open_board(fingerprints) as (board, issues):
                    await _FilingRound(board, issues, self._labels, done).file_all(wanted)
            except ToolError as error:
                why = _error_text(error)
            for each in wanted:
                done.setdefault(each.item.number, _fail_filing(each, why))
        return [done[each.item.number] for each in dossiers]

    def close(self, fingerprints: Collection[str], by: str, why: str) -> int:
        """Close the open issues of dismissed items; raise ToolError if that cannot be done."""

        async def work() -> int:
            async with self._open_board(fingerprints) as (board, _):
                found = [each for one in fingerprints for each in board.get_issues(one).open]
                for issue in found:
                    await board.close_issue(issue, by, why)
                return len(found)

        return _wait_for(work())

    def reopen(self, fingerprints: Collection[str]) -> int:
        """Undo `close`; of several issues of an item, the last one is opened."""

        async def work() -> int:
            async with self._open_board(fingerprints) as (board, _):
                closed = [board.get_issues(one) for one in fingerprints]
                found = [each.closed[-1] for each in closed if each.closed and not each.open]
                for issue in found:
                    await board.restore_issue(issue)
                return len(found)

        return _wait_for(work())

    @asynccontextmanager
    async def _open_board(
        self, fingerprints: Collection[str]
    ) -> AsyncIterator[tuple[IssueBoard, IssuesApi]]:
        """Lend the issues of these items."""
        async with self._place.connect(self._pacing) as (rest, repository):
            issues = await self._open_issues(rest, repository)
            board = IssueBoard(issues, rest.patience)
            await board.load_issues(fingerprints, "".join(self._labels[:1]))
            yield board, issues


def _wait_for(work: Coroutine[Any, Any, int]) -> int:
    """Run this to its end in a thread of its own: the caller may be in an event loop or not."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class _FilingRound:
    """One round of filing. `done` is filled step by step: it is right after an error too."""

    def __init__(
        self, board: IssueBoard, issues: IssuesApi, labels: tuple[str, ...], done: dict[int, Filing]
    ) -> None:
        self._board = board
        self._issues = issues
        self._labels = labels
        self._done = done
        self._labelled: set[str] = set()
        self._added = False

    async def file_all(self, dossiers: Sequence[IssueText]) -> None:
        try:
            for dossier in dossiers:
                self._done[dossier.item.number] = await self._file_one(dossier)
        except Unavailable:
            await self._settle_results(dossiers)
            raise
        await self._settle_results(dossiers)

    async def _file_one(self, dossier: IssueText) -> Filing:
        """Return the filing, failed or not; raises Unavailable if all other items would fail."""
        try:
            return _make_filing(dossier, await self._find_or_create(dossier))
        except (RequestRefused, ResponseLost) as error:
            if isinstance(error, RequestRefused) and error.status in _HOPELESS:
                raise Unavailable(str(error)) from error
            return _fail_filing(dossier, _error_text(error))

    async def _find_or_create(self, dossier: IssueText) -> Issue:
        standing = self._board.get_issues(dossier.item.fingerprint)
        if standing.open:
            return standing.open[0]
        if standing.closed:
            return await self._reopen_closed(standing.closed[-1], dossier)
        labels = tuple(dict.fromkeys((*self._labels, str(dossier.item.severity))))
        for label in labels:
            if label not in self._labelled:
                self._labelled.add(label)
                await self._issues.ensure_label(label)
        self._added = True
        body = fit_body(dossier.body, self._issues.body_limit, self._issues.name)
        draft = IssueDraft(dossier.title, body, labels)
        return await self._board.add_issue(draft, dossier.item.fingerprint)

    async def _reopen_closed(self, issue: Issue, dossier: IssueText) -> Issue:
        """Reopen an issue closed as done; one closed as not planned stays closed."""
        if issue.declined:
            return issue
        try:
            return await self._board.reopen_issue(issue, dossier.item, dossier.run)
        except RequestRefused as refused:
            why = f"{issue.url} is closed, and cannot be opened again: {refused}"
            raise ResponseLost(why) from refused

    async def _settle_results(self, dossiers: Sequence[IssueText]) -> None:
        """Close duplicates from concurrent runs or lost requests, and update the results."""
        fingerprints = dict.fromkeys(each.item.fingerprint for each in dossiers)
        with suppress(ToolError):  # the results so far stay
            if self._added:
                await self._board.reload_issues()
            await self._board.close_duplicates(fingerprints)
        for dossier in dossiers:
            if found := self._board.get_issues(dossier.item.fingerprint).open:
                self._done[dossier.item.number] = _make_filing(dossier, found[0])


def _make_filing(dossier: IssueText, issue: Issue) -> Filing:
    return Filing(item=dossier.item.number, ref=issue.url)


def _fail_filing(dossier: IssueText, why: str) -> Filing:
    return Filing(item=dossier.item.number, failed=why)


def _error_text(error: ToolError) -> str:
    return f"{error}{f'; {error.hint}' if error.hint else ''}"
