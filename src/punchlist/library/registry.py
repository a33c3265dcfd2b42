"""The values and functions of the workflow `accountable`, in one place."""

from punchlist.library.actions import (
    FixLoopExit,
    check_fix_loop_exit,
    create_issue_registry,
    create_tech_debt_issues,
    detect_deleted_files,
    prepare_fixer_input,
    update_issue_registry,
)
from punchlist.library.fixer_io import FixerInput, FixerInputItem, FixerOutput, FixerOutputItem
from punchlist.library.issues import TechDebtIssueResult, create_issues, open_tracker
from punchlist.library.review_findings import (
    FindingCategory,
    IssueRegistry,
    ReviewFinding,
    ReviewFindings,
)
from punchlist.library.tracked import FindingStatus, FixAttempt, TrackedFinding
from punchlist.model.finding.severity import Severity

__all__ = [
    "FindingCategory",
    "FindingStatus",
    "FixAttempt",
    "FixLoopExit",
    "FixerInput",
    "FixerInputItem",
    "FixerOutput",
    "FixerOutputItem",
    "IssueRegistry",
    "ReviewFinding",
    "ReviewFindings",
    "Severity",
    "TechDebtIssueResult",
    "TrackedFinding",
    "check_fix_loop_exit",
    "create_issue_registry",
    "create_issues",
    "create_tech_debt_issues",
    "detect_deleted_files",
    "open_tracker",
    "prepare_fixer_input",
    "update_issue_registry",
]
