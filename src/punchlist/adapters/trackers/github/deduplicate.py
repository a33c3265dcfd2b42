"""Look up, add and deduplicate the issues of items.

GitHub has no lock and no idempotency key. So: look up before adding (by label, newest, number
and search); look up again after a lost response, before adding again; at the end, of several
open issues for one item keep the lowest number, which all runs choose alike.
"""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from msgspec import Struct

from punchlist.adapters.trackers.github.issues_api import (
    MARKER,
    Author,
    GithubIssue,
    IssueDraft,
    IssuesApi,
)
from punchlist.adapters.trackers.github.rest import RequestRefused, ResponseLost
from punchlist.adapters.trackers.github.retry import RetryBudget
from punchlist.model.item.item import Item
from punchlist.views.issue_text import fingerprint_comment, inline_code

BODY_LIMIT = 65_536
_COMMENT = re.compile(rf"<!-- {MARKER} (\S+) -->")
_OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_DECLINED = frozenset({"not_planned", "duplicate"})
_GAP = 5
"""So many unused numbers in a row are the end; discussions take numbers, too."""
_READS = 1000
_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for the issue of a lost request, which may still be on its way."""
_ADDS = 3
_MAYBE_LABELS = frozenset({403, 422})


class ItemIssues(Struct, frozen=True):
    """The issues of one item, each list ordered by number."""

    open: tuple[GithubIssue, ...]
    closed: tuple[GithubIssue, ...]


class IssueBoard:
    """Cache of one repository's issues."""

    def __init__(self, issues: IssuesApi, patience: RetryBudget, viewer: str) -> None:
        self._issues = issues
        self._patience = patience
        self._viewer = viewer
        self._seen: dict[int, GithubIssue] = {}
        self._numbers: dict[str, set[int]] = {}
        self._floor = 0

    async def load_issues(self, fingerprints: Collection[str], label: str) -> None:
        """Load issues by label, the newest, and by number, since lists lag; search for items that
        are still unknown.
        """
        self._record_issues(await self._issues.list_labelled([label] if label else []))
        newest = await self._issues.list_newest()
        self._record_issues(newest)
        self._floor = max((issue.number for issue in newest), default=0)
        await self._probe_numbers()
        if self._find_unknown(fingerprints):
            await self._search_unknown(fingerprints)

    async def reload_issues(self) -> None:
        """Load issues created since `load_issues`."""
        self._record_issues(await self._issues.list_newest())
        await self._probe_numbers()

    def get_issues(self, fingerprint: str) -> ItemIssues:
        mine = [self._seen[number] for number in sorted(self._numbers.get(fingerprint, ()))]
        return ItemIssues(
            tuple(issue for issue in mine if issue.open),
            tuple(issue for issue in mine if not issue.open),
        )

    async def add_issue(self, draft: IssueDraft, fingerprint: str) -> GithubIssue:
        """Create an issue; after a lost response poll for it, and create it again if not found."""
        for _ in range(_ADDS):
            try:
                issue = await self._create_issue(draft)
            except ResponseLost as lost:
                trouble = lost
                if found := await self._poll_issue(fingerprint, lost):
                    return found
            else:
                self._record_issues([issue])
                return issue
        raise trouble

    async def reopen_issue(self, issue: GithubIssue, item: Item, run: str) -> GithubIssue:
        """Reopen by one idempotent request."""
        note = f"Seen again after it was closed: run {inline_code(run)}, item {item.number}."
        text = f"{issue.body or ''}\n\n{note}\n"
        body = {"body": text} if len(text) <= BODY_LIMIT else {}
        changed = await self._issues.update_issue(issue.number, state="open", **body)
        self._record_issues([changed])
        return changed

    async def close_duplicates(self, fingerprints: Iterable[str]) -> None:
        """Close all open issues of an item but the first, with a reference to it."""
        for fingerprint in fingerprints:
            standing = self.get_issues(fingerprint).open
            for issue in standing[1:]:
                fields = _duplicate_fields(issue, standing[0], fingerprint)
                with suppress(RequestRefused, ResponseLost):  # the next run closes it
                    self._record_issues([await self._issues.update_issue(issue.number, **fields)])

    async def _create_issue(self, draft: IssueDraft) -> GithubIssue:
        try:
            return await self._issues.create_issue(draft)
        except RequestRefused as refused:
            if not draft.labels or refused.status not in _MAYBE_LABELS:
                raise
        # A token may be allowed to file issues, and not to label them.
        return await self._issues.create_issue(IssueDraft(draft.title, draft.body, ()))

    async def _poll_issue(self, fingerprint: str, lost: ResponseLost) -> GithubIssue | None:
        for seconds in _LOOKS:
            await self._patience.wait(seconds, lost)
            await self.reload_issues()
            if found := self.get_issues(fingerprint).open:
                return found[0]
        return None

    async def _search_unknown(self, fingerprints: Collection[str]) -> None:
        """Find issues whose label was removed; the search index lags, so they are read again."""
        try:
            found, whole = await self._issues.search_text(MARKER)
            for fingerprint in () if whole else self._find_unknown(fingerprints):
                found += (await self._issues.search_text(fingerprint))[0]
        except RequestRefused:
            return  # some tokens may not search
        wanted = self._find_unknown(fingerprints)
        numbers = {issue.number for issue in found if _parse_fingerprint(issue) in wanted}
        for number in sorted(numbers - self._seen.keys()):
            await self._read_issue(number)

    async def _probe_numbers(self) -> None:
        """Read the next numbers one by one: lists may not show new issues yet."""
        number, end = self._floor, max(self._seen, default=0) + _GAP
        while number < min(end, self._floor + _READS):
            number += 1
            if number not in self._seen and await self._read_issue(number):
                end = max(end, number + _GAP)

    async def _read_issue(self, number: int) -> bool:
        reading = await self._issues.read_issue(number)
        self._record_issues([reading.issue] if reading.issue else [])
        return reading.taken

    def _record_issues(self, issues: Iterable[GithubIssue]) -> None:
        for issue in issues:
            before = self._seen.get(issue.number)
            if before is not None:
                self._numbers.get(_parse_fingerprint(before), set()).discard(issue.number)
            self._seen[issue.number] = issue
            if self._is_trusted(issue):
                self._numbers.setdefault(_parse_fingerprint(issue), set()).add(issue.number)

    def _find_unknown(self, fingerprints: Collection[str]) -> set[str]:
        return {each for each in fingerprints if not self._numbers.get(each)}

    def _is_trusted(self, issue: GithubIssue) -> bool:
        """Return whether we, a bot or a collaborator wrote the issue: others may forge
        fingerprints.
        """
        author = issue.user or Author()
        ours = author.type == "Bot" or (author.login == self._viewer and bool(self._viewer))
        return issue.pull_request is None and (ours or issue.author_association in _OURS)


def is_declined(issue: GithubIssue) -> bool:
    """Return whether a user closed it as not planned or duplicate."""
    return not issue.open and issue.state_reason in _DECLINED


def fit_body(body: str) -> str:
    """Shorten the text to GitHub's limit; its end, with the fingerprint, stays."""
    if len(body) <= BODY_LIMIT:
        return body
    text, _, end = body.rpartition("\n---\n")
    note = "\n\n(The text is longer than GitHub takes. The rest is in the run's report.)\n\n---\n"
    room = BODY_LIMIT - len(note) - len(end) - 200
    cut = text[:room].rpartition("\n")[0] or text[:room]
    return f"{cut}{_close_fence(cut)}{note}{end}"


def _close_fence(text: str) -> str:
    """Return the end of a code block that the cut left open, or ''."""
    fence = ""
    for line in text.split("\n"):
        ticks = line.strip()
        run = ticks[: len(ticks) - len(ticks.lstrip("`"))]
        if not fence and len(run) > 2:  # three ticks begin a block
            fence = line[: len(line) - len(line.lstrip())] + run
        elif fence and ticks == run and len(run) >= len(fence.strip()):
            fence = ""
    return f"\n{fence}" if fence else ""


def _parse_fingerprint(issue: GithubIssue) -> str:
    found = _COMMENT.findall(issue.body or "")
    return found[-1] if found else ""


def _duplicate_fields(issue: GithubIssue, first: GithubIssue, fingerprint: str) -> dict[str, str]:
    """Return the fields of the one request that closes a duplicate and removes its fingerprint."""
    rest = (issue.body or "").replace(
        fingerprint_comment(fingerprint), f"<!-- punchlist:duplicate {fingerprint} -->"
    )
    return {
        "state": "closed",
        "state_reason": "not_planned",
        "body": f"Duplicate of #{first.number}.\n\n{rest}"[:BODY_LIMIT],
    }
