"""GitLab's code quality report: a list of issues, as the merge request widget reads it.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from collections.abc import Iterator
from hashlib import sha256

import msgspec
from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import escape_path, one_line
from punchlist.views.review.diagnostics import ReviewDiagnostic, find_unreviewed, list_diagnostics

_LEVELS = {Severity.CRITICAL: "critical", Severity.MAJOR: "major", Severity.MINOR: "minor"}
_NO_FILE = "(no file)"


class Lines(Struct, frozen=True, omit_defaults=True):
    begin: int
    end: int | None = None


class Location(Struct, frozen=True):
    path: str
    lines: Lines


class QualityIssue(Struct, frozen=True, kw_only=True):
    description: str
    check_name: str
    fingerprint: str
    severity: str
    location: Location


def render(run: Run) -> bytes:
    issues = [*map(_make_issue, list_diagnostics(run)), *_list_gaps(run)]
    return msgspec.json.format(msgspec.json.encode(_separate(issues)), indent=2) + b"\n"


def _make_issue(found: ReviewDiagnostic) -> QualityIssue:
    spot = found.spot
    first, last = spot.line_range
    return QualityIssue(
        description=f"{found.rule}: {found.message}",
        check_name=found.rule,
        fingerprint=sha256(found.fingerprint.encode("utf-8", "replace")).hexdigest(),
        severity=_LEVELS[found.severity],
        location=Location(
            escape_path(spot.path.removeprefix("./")) or _NO_FILE,
            Lines(max(first, 1), last if last > first > 0 else None),
        ),
    )


def _list_gaps(run: Run) -> Iterator[QualityIssue]:
    """Yield what was not reviewed: a report without it would look clean."""
    for gap in find_unreviewed(run):
        text = one_line(f"{gap.what}: {gap.why}" if gap.why else gap.what)
        yield QualityIssue(
            description=f"Not reviewed: {text}",
            check_name="punchlist/not-reviewed",
            fingerprint=sha256(text.encode()).hexdigest(),
            severity="blocker",
            location=Location(_NO_FILE, Lines(1)),
        )


def _separate(issues: list[QualityIssue]) -> list[QualityIssue]:
    """Return the issues with different fingerprints: of two that are equal GitLab shows one."""
    seen: dict[str, int] = {}
    apart = []
    for issue in issues:
        again = seen[issue.fingerprint] = seen.get(issue.fingerprint, 0) + 1
        own = sha256(f"{issue.fingerprint} {again}".encode()).hexdigest()
        apart.append(issue if again == 1 else msgspec.structs.replace(issue, fingerprint=own))
    return apart
