"""What is on a repository's issue board of the items that are to be filed: looked up, added once,
and tidied.

GitHub has no lock and no key that makes a request idempotent. So: look before adding, by label,
among the newest, by number and by search; look again after an answer was lost, before adding again;
and look once more at the end, where of several open issues for one item the one with the lowest
number stays. Everybody who looks comes to the same choice.
"""

import re
from collections.abc import Collection, Iterable
from contextlib import suppress

from msgspec import Struct

from punchlist.adapters.trackers.github.issues_api import MARKER, Draft, Issue, Issues
from punchlist.adapters.trackers.github.rest import Lost, Refused
from punchlist.adapters.trackers.github.retry import Patience
from punchlist.model.item.item import Item
from punchlist.views.issue_text import code, fingerprint_comment

BODY_LIMIT = 65_536
_COMMENT = re.compile(rf"<!-- {MARKER} (\S+) -->")
_OURS = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_DECLINED = frozenset({"not_planned", "duplicate"})
_GAP = 5
"""So many numbers in a row that lead nowhere are the end; a discussion takes a number, too."""
_READS = 1000
_LOOKS = (1.0, 3.0, 9.0)
"""Seconds before each look for what came of a lost request: it may still be on its way."""
_ADDS = 3
_MAYBE_LABELS = frozenset({403, 422})


class Standing(Struct, frozen=True):
    """The issues of one item, each list by number."""

    open: tuple[Issue, ...]
    closed: tuple[Issue, ...]


class Board:
    """The issues of one repository, as far as they were seen."""

    def __init__(self, issues: Issues, patience: Patience, viewer: str) -> None:
        self._issues = issues
        self._patience = patience
        self._viewer = viewer
        self._seen: dict[int, Issue] = {}
        self._numbers: dict[str, set[int]] = {}
        self._floor = 0

    async def look(self, fingerprints: Collection[str], label: str) -> None:
        """By label, and among the newest, also where all was found: a request that was given up may
        have been done long after, and lists do not show it yet. What is still not found is searched
        for.
        """
        self._saw(await self._issues.labelled([label] if label else []))
        newest = await self._issues.newest()
        self._saw(newest)
        self._floor = max((issue.number for issue in newest), default=0)
        await self._beyond()
        if self._unknown(fingerprints):
            await self._search(fingerprints)

    async def look_again(self) -> None:
        """What came since the first look."""
        self._saw(await self._issues.newest())
        await self._beyond()

    def of(self, fingerprint: str) -> Standing:
        mine = [self._seen[number] for number in sorted(self._numbers.get(fingerprint, ()))]
        return Standing(
            tuple(issue for issue in mine if issue.open),
            tuple(issue for issue in mine if not issue.open),
        )

    async def add(self, draft: Draft, fingerprint: str) -> Issue:
        """One issue more. After a lost answer it is added again only if looking for it for a while
        finds nothing.
        """
        for _ in range(_ADDS):
            try:
                issue = await self._created(draft)
            except Lost as lost:
                trouble = lost
                if found := await self._landed(fingerprint, lost):
                    return found
            else:
                self._saw([issue])
                return issue
        raise trouble

    async def reopen(self, issue: Issue, item: Item, run: str) -> Issue:
        """State and reason in one request, which does the same when it is made twice."""
        told = (
            f"{issue.body or ''}\n\nSeen again after it was closed: run {code(run)}, item"
            f" {item.number}.\n"
        )
        body = {"body": told} if len(told) <= BODY_LIMIT else {}
        changed = await self._issues.change(issue.number, state="open", **body)
        self._saw([changed])
        return changed

    async def tidy(self, fingerprints: Iterable[str]) -> None:
        """Of several open issues for one item the first stays; the others are closed and lead to
        it.
        """
        for fingerprint in fingerprints:
            standing = self.of(fingerprint).open
            for issue in standing[1:]:
                with suppress(Refused, Lost):  # whoever files it next tidies up
                    self._saw(
                        [
                            await self._issues.change(
                                issue.number, **_duplicate(issue, standing[0], fingerprint)
                            )
                        ]
                    )

    async def _created(self, draft: Draft) -> Issue:
        try:
            return await self._issues.create(draft)
        except Refused as refused:
            if not draft.labels or refused.status not in _MAYBE_LABELS:
                raise
        # Labels are worth less than the issue: a token may be allowed to file, and not to label.
        return await self._issues.create(Draft(draft.title, draft.body, ()))

    async def _landed(self, fingerprint: str, lost: Lost) -> Issue | None:
        for seconds in _LOOKS:
            await self._patience.wait(seconds, lost)
            await self.look_again()
            if found := self.of(fingerprint).open:
                return found[0]
        return None

    async def _search(self, fingerprints: Collection[str]) -> None:
        """Finds old issues whose label somebody took away. What it says of them is old, so they are
        read again.
        """
        try:
            found, whole = await self._issues.search(MARKER)
            for fingerprint in () if whole else self._unknown(fingerprints):
                found += (await self._issues.search(fingerprint))[0]
        except Refused:
            return  # some tokens may not search
        wanted = self._unknown(fingerprints)
        for number in sorted(
            {
                issue.number
                for issue in found
                if _fingerprint(issue) in wanted and issue.number not in self._seen
            }
        ):
            await self._read(number)

    async def _beyond(self) -> None:
        """Numbers are given out in order, and an issue can be read by its number while lists do not
        show it yet.
        """
        number, end = self._floor, max(self._seen, default=0) + _GAP
        while number < min(end, self._floor + _READS):
            number += 1
            if number not in self._seen and await self._read(number):
                end = max(end, number + _GAP)

    async def _read(self, number: int) -> bool:
        reading = await self._issues.read(number)
        self._saw([reading.issue] if reading.issue else [])
        return reading.taken

    def _saw(self, issues: Iterable[Issue]) -> None:
        for issue in issues:
            before = self._seen.get(issue.number)
            if before is not None:
                self._numbers.get(_fingerprint(before), set()).discard(issue.number)
            self._seen[issue.number] = issue
            if self._trusted(issue):
                self._numbers.setdefault(_fingerprint(issue), set()).add(issue.number)

    def _unknown(self, fingerprints: Collection[str]) -> set[str]:
        return {each for each in fingerprints if not self._numbers.get(each)}

    def _trusted(self, issue: Issue) -> bool:
        """Anybody may write a fingerprint into an issue of a public repository, to keep a finding
        from being filed.
        """
        if issue.pull_request is not None:
            return False
        author = issue.user
        ours = author is not None and (
            author.type == "Bot" or (author.login == self._viewer and bool(self._viewer))
        )
        return ours or issue.author_association in _OURS


def declined(issue: Issue) -> bool:
    """Whether a person said that nothing will be done about it; otherwise it was closed as done."""
    return not issue.open and issue.state_reason in _DECLINED


def fitted(body: str) -> str:
    """The text within GitHub's limit; its end, with the fingerprint, stays."""
    if len(body) <= BODY_LIMIT:
        return body
    text, _, end = body.rpartition("\n---\n")
    note = "\n\n(The text is longer than GitHub takes. The rest is in the run's report.)\n\n---\n"
    room = BODY_LIMIT - len(note) - len(end) - 200
    cut = text[:room].rpartition("\n")[0] or text[:room]
    return f"{cut}{_closing(cut)}{note}{end}"


def _closing(text: str) -> str:
    """Ends a block of code that the cut left open."""
    fence = ""
    for line in text.split("\n"):
        ticks = line.strip()
        run = ticks[: len(ticks) - len(ticks.lstrip("`"))]
        if not fence and len(run) > 2:  # three ticks begin a block
            fence = line[: len(line) - len(line.lstrip())] + run
        elif fence and ticks == run and len(run) >= len(fence.strip()):
            fence = ""
    return f"\n{fence}" if fence else ""


def _fingerprint(issue: Issue) -> str:
    found = _COMMENT.findall(issue.body or "")
    return found[-1] if found else ""


def _duplicate(issue: Issue, first: Issue, fingerprint: str) -> dict[str, str]:
    """Closing, the pointer, and no longer counting for the item are one request: half of it cannot
    happen.
    """
    rest = (issue.body or "").replace(
        fingerprint_comment(fingerprint), f"<!-- punchlist:duplicate {fingerprint} -->"
    )
    return {
        "state": "closed",
        "state_reason": "not_planned",
        "body": f"Duplicate of #{first.number}.\n\n{rest}"[:BODY_LIMIT],
    }
