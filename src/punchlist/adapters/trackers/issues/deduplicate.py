"""Look up, add and deduplicate the issues of items.

Forges have no lock and no idempotency key. So: look up before adding (by label, newest, number
and search); look up again after a lost response, before adding again; at the end, of several
open issues for one item keep the lowest number, which all runs choose alike.
"""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from msgspec import Struct

from punchlist.adapters.rest.client import RequestRefused, ResponseLost
from punchlist.adapters.rest.retry import RetryBudget
from punchlist.adapters.trackers.issues.api import MARKER, Issue, IssueChange, IssueDraft, IssuesApi
from punchlist.model.item.item import Item
from punchlist.views.issue_text import fingerprint_comment, inline_code
from punchlist.views.safe_text import safe_text

_COMMENT = re.compile(rf"<!-- {MARKER} (\S+) -->")
_GAP = 5
"""So many unused numbers in a row are the end; discussions take numbers, too."""
_READS = 1000
_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for the issue of a lost request, which may still be on its way."""
_ADDS = 3
_WHY = 600
_MAYBE_LABELS = frozenset({403, 422})


class ItemIssues(Struct, frozen=True):
    """The issues of one item, each list ordered by number."""

    open: tuple[Issue, ...]
    closed: tuple[Issue, ...]


class IssueBoard:
    """Cache of one repository's issues."""

    def __init__(self, issues: IssuesApi, patience: RetryBudget) -> None:
        self._issues = issues
        self._patience = patience
        self._seen: dict[int, Issue] = {}
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

    async def add_issue(self, draft: IssueDraft, fingerprint: str) -> Issue:
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

    async def reopen_issue(self, issue: Issue, item: Item, run: str) -> Issue:
        """Reopen by one idempotent request."""
        note = f"Seen again after it was closed: run {inline_code(run)}, item {item.number}."
        return await self._change_issue(issue, note, open_=True)

    async def close_issue(self, issue: Issue, by: str, why: str) -> None:
        """Close the issue of a dismissed item, with a note."""
        words = " ".join(safe_text(why).split())[:_WHY]
        note = f"Dismissed by {inline_code(by)}: {words}"
        await self._change_issue(issue, note, open_=False)

    async def restore_issue(self, issue: Issue) -> None:
        """Undo `close_issue`."""
        await self._change_issue(issue, "The dismissal was taken back.", open_=True)

    async def _change_issue(self, issue: Issue, note: str, *, open_: bool) -> Issue:
        text = f"{issue.body}\n\n{note}\n"
        body = text if len(text) <= self._issues.body_limit else None
        change = IssueChange(open=open_, declined=not open_, body=body)
        changed = await self._issues.update_issue(issue.number, change)
        self._record_issues([changed])
        return changed

    async def close_duplicates(self, fingerprints: Iterable[str]) -> None:
        """Close all open issues of an item but the first, with a reference to it."""
        for fingerprint in fingerprints:
            standing = self.get_issues(fingerprint).open
            for issue in standing[1:]:
                change = self._make_duplicate(issue, standing[0], fingerprint)
                with suppress(RequestRefused, ResponseLost):  # the next run closes it
                    self._record_issues([await self._issues.update_issue(issue.number, change)])

    def _make_duplicate(self, issue: Issue, first: Issue, fingerprint: str) -> IssueChange:
        """Return the one update that closes a duplicate and removes its fingerprint."""
        rest = issue.body.replace(
            fingerprint_comment(fingerprint), f"<!-- punchlist:duplicate {fingerprint} -->"
        )
        body = f"Duplicate of #{first.number}.\n\n{rest}"[: self._issues.body_limit]
        return IssueChange(open=False, declined=True, body=body)

    async def _create_issue(self, draft: IssueDraft) -> Issue:
        try:
            return await self._issues.create_issue(draft)
        except RequestRefused as refused:
            if not draft.labels or refused.status not in _MAYBE_LABELS:
                raise
        # A token may be allowed to file issues, and not to label them.
        return await self._issues.create_issue(IssueDraft(draft.title, draft.body, ()))

    async def _poll_issue(self, fingerprint: str, lost: ResponseLost) -> Issue | None:
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
        """Read the next numbers one by one: lists may not show new issues yet.

        Other runs create issues meanwhile: a number that was free may be in use by the time a
        higher one is, so free numbers below an issue are read once more.
        """
        free: list[int] = []
        number, end = self._floor, max(self._seen, default=0) + _GAP
        while number < min(end, self._floor + _READS):
            number += 1
            if number in self._seen:
                continue
            if await self._read_issue(number):
                end = max(end, number + _GAP)
            else:
                free.append(number)
        for number in free:
            if number < max(self._seen, default=0):
                await self._read_issue(number)

    async def _read_issue(self, number: int) -> bool:
        reading = await self._issues.read_issue(number)
        self._record_issues([reading.issue] if reading.issue else [])
        return reading.taken

    def _record_issues(self, issues: Iterable[Issue]) -> None:
        for issue in issues:
            before = self._seen.get(issue.number)
            if before is not None:
                self._numbers.get(_parse_fingerprint(before), set()).discard(issue.number)
            self._seen[issue.number] = issue
            if issue.trusted:
                self._numbers.setdefault(_parse_fingerprint(issue), set()).add(issue.number)

    def _find_unknown(self, fingerprints: Collection[str]) -> set[str]:
        return {each for each in fingerprints if not self._numbers.get(each)}


def fit_body(body: str, limit: int, forge: str) -> str:
    """Shorten the text to the forge's limit; its end, with the fingerprint, stays."""
    if len(body) <= limit:
        return body
    text, _, end = body.rpartition("\n---\n")
    note = f"\n\n(The text is longer than {forge} takes. The rest is in the run's report.)\n\n---\n"
    room = limit - len(note) - len(end) - 200
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


def _parse_fingerprint(issue: Issue) -> str:
    found = _COMMENT.findall(issue.body)
    return found[-1] if found else ""
