"""Findings of several reviewers, and the registry of them all."""

from enum import StrEnum

from punchlist.errors import UsageError
from punchlist.library.answers import list_problems, parse_review_answer
from punchlist.library.json_values import JsonValue
from punchlist.library.tracked import FindingStatus, ReportedFinding, TrackedFinding
from punchlist.model.finding import finding as model
from punchlist.model.finding.paths import normalize_path
from punchlist.model.finding.severity import Severity


class FindingCategory(StrEnum):
    """What a finding is about; OTHER stands for every word that is not here."""

    SECURITY = "security"
    CORRECTNESS = "correctness"
    PERFORMANCE = "performance"
    MAINTAINABILITY = "maintainability"
    ERROR_HANDLING = "error_handling"
    SPEC_GAP = "spec_gap"
    DATA_MODEL = "data_model"
    CONTRACT = "contract"
    BEHAVIOUR = "behaviour"
    LIBRARY_STANDARDS = "library_standards"
    TYPE_HINTS = "type_hints"
    CLEAN_CODE = "clean_code"
    TESTING = "testing"
    DOCUMENTATION = "documentation"
    STYLE = "style"
    OTHER = "other"

    @classmethod
    def parse(cls, word: str) -> "FindingCategory":
        """Return the category of a reviewer's word, in any case and spacing."""
        plain = "_".join(word.casefold().replace("-", " ").replace("_", " ").split())
        return next((each for each in cls if each.value == plain), cls.OTHER)


class ReviewFinding(ReportedFinding, frozen=True):
    """A finding as a reviewer reported it. The registry gives the id; `reviewer` says who reported
    it, and `category_word` the reviewer's own word where the category is OTHER.
    """

    severity: Severity
    category: FindingCategory
    title: str
    description: str = ""
    file_path: str = ""
    line_start: int | None = None
    line_end: int | None = None
    suggested_fix: str = ""
    id: str = ""
    reviewer: str = ""
    category_word: str = ""

    def __post_init__(self) -> None:
        self._take_word("severity", Severity)
        self._take_word("category", FindingCategory)

    def to_finding(self, number: str, source: str) -> model.Finding:
        return model.Finding(
            id=number,
            source=self.reviewer or source,
            title=self.title,
            spot=model.Spot(normalize_path(self.file_path, "")[0], self.line_start, self.line_end),
            severity=self.severity,
            label=self.id,
            detail=self.description,
            category=self.category_word or self.category.value,
            suggestion=self.suggested_fix,
        )

    @classmethod
    def from_finding(cls, finding: model.Finding, reviewer: str) -> "ReviewFinding":
        category = FindingCategory.parse(finding.category)
        return cls(
            severity=finding.severity,
            category=category,
            title=finding.title,
            description=finding.detail,
            file_path=finding.spot.path,
            line_start=finding.spot.line,
            line_end=finding.spot.last_line,
            suggested_fix=finding.suggestion,
            reviewer=reviewer,
            category_word=finding.category if category is FindingCategory.OTHER else "",
        )


class ReviewFindings(JsonValue, frozen=True):
    """A reviewer's answer; `problems` says what of it could not be read."""

    findings: tuple[ReviewFinding, ...]
    summary: str = ""
    problems: tuple[str, ...] = ()

    @classmethod
    def from_answer(cls, text: str, reviewer: str = "") -> "ReviewFindings":
        """Return the findings in a reviewer's answer: JSON in any spelling, with text around it, or
        Markdown. Raise UsageError if it cannot be used as a review.
        """
        answer = parse_review_answer(text, reviewer or "reviewer")
        found = tuple(ReviewFinding.from_finding(each, reviewer) for each in answer.findings)
        return cls(found, problems=list_problems(answer))


class IssueRegistry(JsonValue, frozen=True):
    """Every finding with its status and attempts. It records what fixers report and proves nothing;
    `iteration` counts the rounds of fixing that are over.
    """

    findings: tuple[TrackedFinding[ReviewFinding], ...] = ()
    iteration: int = 0
    max_iterations: int = 3

    def get(self, finding_id: str) -> TrackedFinding[ReviewFinding]:
        """Return one finding. Raise UsageError if there is none with this id."""
        for tracked in self.findings:
            if tracked.finding.id == finding_id:
                return tracked
        known = ", ".join(tracked.finding.id for tracked in self.findings) or "there are none"
        raise UsageError(f"no finding is called {finding_id}", hint=f"known: {known}")

    def get_by_status(self, *statuses: FindingStatus) -> tuple[TrackedFinding[ReviewFinding], ...]:
        return tuple(tracked for tracked in self.findings if tracked.status in statuses)

    def get_by_severity(self, *severities: Severity) -> tuple[TrackedFinding[ReviewFinding], ...]:
        return tuple(each for each in self.findings if each.finding.severity in severities)

    def get_by_file(self, file_path: str) -> tuple[TrackedFinding[ReviewFinding], ...]:
        wanted = normalize_path(file_path, "")[0]
        return tuple(each for each in self.findings if each.finding.path == wanted)

    def get_actionable(self) -> tuple[TrackedFinding[ReviewFinding], ...]:
        """Return what goes to the fixer next: open and deferred findings."""
        return tuple(tracked for tracked in self.findings if tracked.is_actionable)

    def get_unresolved(self) -> tuple[TrackedFinding[ReviewFinding], ...]:
        """Return every finding that is not fixed; each becomes an issue."""
        return tuple(each for each in self.findings if each.status is not FindingStatus.FIXED)

    def count_by_status(self) -> dict[FindingStatus, int]:
        return {status: len(self.get_by_status(status)) for status in FindingStatus}
