"""A finding with its status and every attempt to fix it, as a program recorded them."""

from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from msgspec.structs import replace

from punchlist.library.json_values import JsonValue
from punchlist.model.dedup.identity import fingerprint
from punchlist.model.finding.finding import Finding
from punchlist.model.integrity.weak_excuses import find_excuse
from punchlist.model.item.item import Attempt, Fact, Item
from punchlist.steps.support.batching import GONE

SYSTEM = "punchlist"
"""Who blocks a finding whose file is gone."""


class FindingStatus(StrEnum):
    """FIXED is what a program recorded with the library; only a run of punchlist proves a fix."""

    OPEN = "open"
    FIXED = "fixed"
    BLOCKED = "blocked"
    DEFERRED = "deferred"


ACTIONABLE = (FindingStatus.OPEN, FindingStatus.DEFERRED)
_FACTS = {
    FindingStatus.OPEN: Fact.SET_ASIDE,
    FindingStatus.FIXED: Fact.SAID_FIXED,
    FindingStatus.BLOCKED: Fact.SAID_BLOCKED,
    FindingStatus.DEFERRED: Fact.SAID_DEFERRED,
}


class FixAttempt(JsonValue, frozen=True):
    """One attempt: what the fixer reported and why; `refused` says why that was not accepted."""

    timestamp: datetime
    outcome: FindingStatus
    explanation: str = ""
    iteration: int = 0
    by: str = ""
    refused: str = ""

    def __post_init__(self) -> None:
        self._take_word("outcome", FindingStatus)

    @property
    def justification(self) -> str:
        return self.explanation


class ReportedFinding(JsonValue, frozen=True):
    """A finding of the library, which can be turned into one of the engine."""

    @property
    def path(self) -> str:
        """The file that the finding is about, or ""."""
        return self.to_finding("", "").spot.path

    def to_finding(self, number: str, source: str) -> Finding:
        """Return the finding as the engine has it."""
        raise NotImplementedError


F = TypeVar("F", bound=ReportedFinding)


class TrackedFinding(JsonValue, Generic[F], frozen=True):
    """A finding, its status, its attempts, and why a person should look at it."""

    finding: F
    status: FindingStatus = FindingStatus.OPEN
    attempts: tuple[FixAttempt, ...] = ()
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._take_word("status", FindingStatus)

    @property
    def is_actionable(self) -> bool:
        return self.status in ACTIONABLE

    def with_attempt(self, attempt: FixAttempt, status: FindingStatus) -> "TrackedFinding[F]":
        """Return the finding after an attempt; a weak reason for blocking it is flagged."""
        excuse = ""
        if status is FindingStatus.BLOCKED and attempt.by != SYSTEM:
            excuse = find_excuse(attempt.explanation)
        flags = (f'blocked for a weak reason: "{excuse}"',) if excuse else ()
        return replace(
            self,
            status=status,
            attempts=(*self.attempts, attempt),
            flags=tuple(dict.fromkeys((*self.flags, *flags))),
        )


def block_deleted(tracked: TrackedFinding[F], root: Path) -> TrackedFinding[F]:
    """Return the finding, blocked if it can be worked on and its file does not exist."""
    path = tracked.finding.path
    if not tracked.is_actionable or not path or (root / path).is_file():
        return tracked
    attempt = FixAttempt(current_time(), FindingStatus.BLOCKED, GONE, by=SYSTEM)
    return tracked.with_attempt(attempt, FindingStatus.BLOCKED)


def current_time() -> datetime:
    return datetime.now(UTC)


def make_item(number: int, tracked: TrackedFinding[F], source: str = "reviewer") -> Item:
    """Return the finding with its history as an item of the engine, for prompts and issues."""
    finding = tracked.finding.to_finding(f"{source}:{number}", source)
    item = Item(
        number=number, fingerprint=fingerprint(finding), findings=(finding,), flags=tracked.flags
    )
    attempts: list[Attempt] = []
    for at, each in enumerate(tracked.attempts, 1):
        place, by = each.iteration or at, each.by or "fixer"
        attempts.append(Attempt(place, _FACTS[each.outcome], by, each.explanation))
        if each.refused:
            attempts.append(Attempt(place, Fact.EXCUSE_REFUSED, SYSTEM, each.refused))
    return replace(item, attempts=tuple(attempts))
