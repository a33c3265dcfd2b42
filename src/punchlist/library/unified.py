"""The values of the workflow `unified`: findings in groups, and a tracker of their statuses."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

from punchlist.errors import UsageError
from punchlist.intake.raw_finding import split_headline
from punchlist.library.answers import list_problems, parse_claims, parse_review_answer
from punchlist.library.json_values import JsonValue
from punchlist.library.tracked import (
    FindingStatus,
    FixAttempt,
    ReportedFinding,
    TrackedFinding,
    block_deleted,
    current_time,
)
from punchlist.model.finding import finding as model
from punchlist.model.finding.locations import parse_lines
from punchlist.model.finding.paths import normalize_path
from punchlist.model.finding.severity import Severity
from punchlist.model.item.claim import ClaimOutcome
from punchlist.views.plans.plan_forms import item_code

__all__ = [
    "Finding",
    "FindingGroup",
    "FindingStatus",
    "FindingTracker",
    "FixAttempt",
    "Outcome",
    "Outcomes",
    "ReviewResult",
    "TrackedFinding",
]

SeverityWord = Literal["critical", "major", "minor"]
OutcomeWord = Literal["fixed", "blocked", "deferred"]
_SEVERITIES: dict[Severity, SeverityWord] = {
    Severity.CRITICAL: "critical",
    Severity.MAJOR: "major",
    Severity.MINOR: "minor",
}


class Finding(ReportedFinding, frozen=True):
    """A finding of the unified reviewer; `line` is a line or a range: "45" or "45-67"."""

    id: str
    file: str
    line: str
    issue: str
    severity: SeverityWord
    category: str
    fix_hint: str | None = None

    def __post_init__(self) -> None:
        _require_word(self.severity, SeverityWord, f"severity of {self.id}")

    def to_finding(self, number: str, source: str) -> model.Finding:
        title, detail = split_headline(self.issue)
        place = parse_lines(self.line)
        return model.Finding(
            id=number,
            source=source,
            title=title,
            spot=model.Spot(normalize_path(self.file, "")[0], place.line, place.end_line),
            severity=Severity(self.severity),
            label=self.id,
            detail=detail,
            category=self.category,
            suggestion=self.fix_hint or "",
        )

    @classmethod
    def from_finding(cls, finding: model.Finding, name: str) -> "Finding":
        """Return a finding of the engine under this id."""
        first, last = finding.spot.line, finding.spot.last_line
        line = "" if first is None else f"{first}" if last in (None, first) else f"{first}-{last}"
        more = f"\n\n{finding.detail}" if finding.detail else ""
        return cls(
            id=name,
            file=finding.spot.path,
            line=line,
            issue=f"{finding.title}{more}",
            severity=_SEVERITIES[finding.severity],
            category=finding.category,
            fix_hint=finding.suggestion or None,
        )


class FindingGroup(JsonValue, frozen=True):
    """Findings that can be fixed independently of those in other groups."""

    description: str
    findings: tuple[Finding, ...]


class ReviewResult(JsonValue, frozen=True):
    """The findings of a review; `problems` says what of the answer could not be read."""

    groups: tuple[FindingGroup, ...]
    problems: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for group in self.groups for finding in group.findings)

    @classmethod
    def from_answer(cls, text: str) -> "ReviewResult":
        """Return the findings in a reviewer's answer: JSON in any spelling, with text around it, or
        Markdown. Raise UsageError if it cannot be used as a review.
        """
        answer = parse_review_answer(text, "unified")
        names = _unique_names(answer.findings)
        found = [
            Finding.from_finding(each, name)
            for each, name in zip(answer.findings, names, strict=True)
        ]
        groups = answer.groups or ((tuple(range(len(found))),) if found else ())
        return cls(
            groups=tuple(
                FindingGroup(f"group {at}", tuple(found[index] for index in group))
                for at, group in enumerate(groups, 1)
            ),
            problems=list_problems(answer),
        )


def _unique_names(findings: Sequence[model.Finding]) -> list[str]:
    """Return the reviewer's own ids; a missing one, or one that came before, is a number."""
    taken = {finding.label for finding in findings}
    names: list[str] = []
    number = 0
    for finding in findings:
        name = finding.label
        while not name or name in names:
            number += 1
            free = item_code(number)
            name = "" if free in taken else free
        names.append(name)
    return names


class Outcome(JsonValue, frozen=True):
    """What a fixer reports of one finding."""

    id: str
    outcome: OutcomeWord
    explanation: str = ""

    def __post_init__(self) -> None:
        _require_word(self.outcome, OutcomeWord, f"outcome of {self.id}")


class Outcomes(JsonValue, frozen=True):
    outcomes: tuple[Outcome, ...]

    @classmethod
    def from_answer(cls, text: str, findings: Iterable[Finding]) -> "Outcomes":
        """Return one outcome per finding in a fixer's answer; a finding that it does not mention is
        deferred. Raise UsageError if the answer has no outcome at all.
        """
        names = [finding.id for finding in findings]
        claims = zip(names, parse_claims(text, names), strict=True)
        return cls(tuple(_make_outcome(name, c.outcome, c.why) for name, c in claims))


def _make_outcome(name: str, claim: ClaimOutcome, why: str) -> Outcome:
    match claim:
        case ClaimOutcome.FIXED:
            return Outcome(name, "fixed", why)
        case ClaimOutcome.BLOCKED:
            return Outcome(name, "blocked", why)
        case ClaimOutcome.DEFERRED:
            return Outcome(name, "deferred", why)
        case ClaimOutcome.CONTESTED:
            return Outcome(name, "deferred", f"contested: {why}")


class FindingTracker:
    """Tracks the findings of a review over rounds of fixing; it records what it is told and proves
    nothing.
    """

    def __init__(self, review_result: ReviewResult, *, max_retries: int = 2) -> None:
        """`max_retries`: how often a deferred finding is tried again before it is blocked."""
        self._max_retries = max_retries
        self._findings: dict[str, TrackedFinding[Finding]] = {}
        for finding in review_result.findings:
            if finding.id in self._findings:
                twice = f"two findings are called {finding.id}"
                raise UsageError(twice, hint="give each finding an id of its own")
            self._findings[finding.id] = TrackedFinding(finding)

    @property
    def tracked(self) -> tuple[TrackedFinding[Finding], ...]:
        """Every finding with its status and attempts, in the review's order."""
        return tuple(self._findings.values())

    def get_open_findings(self) -> list[Finding]:
        """Return the findings that no fixer reported on yet."""
        return [each.finding for each in self.tracked if each.status is FindingStatus.OPEN]

    def get_actionable_findings(self) -> list[Finding]:
        """Return what can be tried now: open and deferred findings."""
        return [each.finding for each in self.tracked if each.is_actionable]

    def record_outcome(self, finding_id: str, outcome: str, explanation: str) -> None:
        """Record an attempt; a finding that is deferred once more than it may be is blocked. Raise
        UsageError for an unknown finding or outcome.
        """
        if finding_id not in self._findings:
            known = ", ".join(self._findings) or "there are none"
            raise UsageError(f"no finding is called {finding_id}", hint=f"known: {known}")
        if outcome not in get_args(OutcomeWord):
            hint = f"one of: {', '.join(get_args(OutcomeWord))}"
            raise UsageError(f"{outcome!r} of {finding_id} is no outcome", hint=hint)
        tracked = self._findings[finding_id]
        said = FindingStatus(outcome)
        deferrals = sum(each.outcome is FindingStatus.DEFERRED for each in tracked.attempts)
        too_often = said is FindingStatus.DEFERRED and deferrals >= self._max_retries
        attempt = FixAttempt(current_time(), said, explanation, iteration=len(tracked.attempts) + 1)
        status = FindingStatus.BLOCKED if too_often else said
        self._findings[finding_id] = tracked.with_attempt(attempt, status)

    def record_outcomes(self, outcomes: Outcomes) -> None:
        for each in outcomes.outcomes:
            self.record_outcome(each.id, each.outcome, each.explanation)

    def block_deleted_files(self, root: str | Path = ".") -> list[Finding]:
        """Block the findings whose file does not exist below `root`, and return them."""
        before = self.get_actionable_findings()
        self._findings = {
            name: block_deleted(each, Path(root)) for name, each in self._findings.items()
        }
        return [each for each in before if each not in self.get_actionable_findings()]

    def get_unresolved(self) -> list[TrackedFinding[Finding]]:
        """Return every finding that is not fixed, for issues: also those still open, so that none
        is lost.
        """
        return [each for each in self.tracked if each.status is not FindingStatus.FIXED]

    def is_complete(self) -> bool:
        """Return whether every finding is fixed or blocked."""
        ended = (FindingStatus.FIXED, FindingStatus.BLOCKED)
        return all(each.status in ended for each in self.tracked)


def _require_word(word: str, words: object, what: str) -> None:
    if word not in get_args(words):
        raise ValueError(f"the {what} is {word!r}, not one of: {', '.join(get_args(words))}")
