"""Issues on GitHub: one per item, found by its fingerprint, also after failed requests."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from punchlist.adapters.git.command import Git
from punchlist.adapters.trackers.github.deduplicate import IssueBoard, fit_body, is_declined
from punchlist.adapters.trackers.github.issues_api import GithubIssue, IssueDraft, IssuesApi
from punchlist.adapters.trackers.github.remote import (
    parse_name,
    parse_remote,
    read_origin,
    web_host,
)
from punchlist.adapters.trackers.github.rest import (
    RequestRefused,
    ResponseLost,
    RestClient,
    check_api_url,
)
from punchlist.adapters.trackers.github.retry import Pacing, Unavailable
from punchlist.errors import ToolError
from punchlist.model.item.item import Status
from punchlist.ports.tracker import Filing
from punchlist.views.issue_text import IssueText

_HOPELESS = frozenset({403, 404, 410})
"""Refusals that apply to all issues: no permission, no repository, no issues."""


class GithubTarget(Struct, frozen=True, kw_only=True):
    """Where issues go. An empty `repository` means that of the remote `origin`."""

    token: Callable[[str], Awaitable[str]]
    """Returns the token for a host; called for each filing, and never stored."""
    git: Git
    repository: str = ""
    api: str = "https://api.github.com"
    labels: tuple[str, ...] = ("tech-debt",)


class GithubTracker:
    """Failures of GitHub are returned per item, never raised; failed items can be filed again."""

    name = "github"

    def __init__(self, place: GithubTarget, pacing: Pacing | None = None) -> None:
        self._place = place
        self._pacing = pacing or Pacing()

    async def file(self, dossiers: Sequence[IssueText]) -> Sequence[Filing]:
        fixed = [each for each in dossiers if each.item.status is Status.FIXED]
        wanted = [each for each in dossiers if each.item.status is not Status.FIXED]
        refused = "it is fixed; there is nothing to file"
        done = {each.item.number: _fail_filing(each, refused) for each in fixed}
        if wanted:
            why = "nothing was tried"
            try:
                async with self._open_api() as (issues, rest):
                    board = IssueBoard(issues, rest.patience, await issues.read_viewer())
                    fingerprints = {each.item.fingerprint for each in wanted}
                    await board.load_issues(fingerprints, "".join(self._place.labels[:1]))
                    await _FilingRound(board, issues, self._place.labels, done).file_all(wanted)
            except ToolError as error:
                why = _error_text(error)
            for each in wanted:
                done.setdefault(each.item.number, _fail_filing(each, why))
        return [done[each.item.number] for each in dossiers]

    def close(self, fingerprints: Collection[str], by: str, why: str) -> None:
        """Unsupported: issues on GitHub are closed there."""

    def reopen(self, fingerprints: Collection[str]) -> None:
        """Unsupported, as `close` is."""

    @asynccontextmanager
    async def _open_api(self) -> AsyncIterator[tuple[IssuesApi, RestClient]]:
        place = self._place
        host = web_host(check_api_url(place.api))
        if place.repository:
            repository = parse_name(place.repository)
        else:
            repository = parse_remote(await read_origin(place.git), host)
        async with RestClient(place.api, await place.token(host), self._pacing) as rest:
            yield await IssuesApi.open(rest, repository), rest


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

    async def _find_or_create(self, dossier: IssueText) -> GithubIssue:
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
        draft = IssueDraft(dossier.title, fit_body(dossier.body), labels)
        return await self._board.add_issue(draft, dossier.item.fingerprint)

    async def _reopen_closed(self, issue: GithubIssue, dossier: IssueText) -> GithubIssue:
        """Reopen an issue closed as done; one closed as not planned stays closed."""
        if is_declined(issue):
            return issue
        try:
            return await self._board.reopen_issue(issue, dossier.item, dossier.run)
        except RequestRefused as refused:
            why = f"{issue.html_url} is closed, and cannot be opened again: {refused}"
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


def _make_filing(dossier: IssueText, issue: GithubIssue) -> Filing:
    return Filing(item=dossier.item.number, ref=issue.html_url)


def _fail_filing(dossier: IssueText, why: str) -> Filing:
    return Filing(item=dossier.item.number, failed=why)


def _error_text(error: ToolError) -> str:
    return f"{error}{f'; {error.hint}' if error.hint else ''}"
