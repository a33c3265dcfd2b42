"""Punchlist for programs: whole runs, and the values and functions that workflows are made of."""

from punchlist.errors import PunchlistError, UsageError
from punchlist.library.actions import (
    FixLoopExit,
    check_fix_loop_exit,
    create_issue_registry,
    create_tech_debt_issues,
    detect_deleted_files,
    prepare_fixer_input,
    update_issue_registry,
)
from punchlist.library.fix_engine import FixEngine
from punchlist.library.fix_events import FixEvents
from punchlist.library.fix_prompt import FixPromptBuilder
from punchlist.library.fix_values import (
    AgentResult,
    CommandResult,
    FixCycleResult,
    FixEvent,
    FixEventType,
    FixOpts,
    FixReport,
    VerificationReport,
    VerificationRunner,
    VerificationStatus,
)
from punchlist.library.fixer_io import FixerInput, FixerInputItem, FixerOutput, FixerOutputItem
from punchlist.library.issues import TechDebtIssueResult, create_issues, open_tracker
from punchlist.library.own_agent import FunctionAgent
from punchlist.library.registry import FindingCategory, IssueRegistry, ReviewFinding, ReviewFindings
from punchlist.library.run import ReviewFixResult, make_result, review_and_fix
from punchlist.library.tracked import FindingStatus, FixAttempt, TrackedFinding
from punchlist.library.unified import (
    Finding,
    FindingGroup,
    FindingTracker,
    Outcome,
    Outcomes,
    ReviewResult,
)
from punchlist.model.finding.severity import Severity
from punchlist.ports.agent import Agent, Ask, Reply
from punchlist.ports.tracker import Tracker

__all__ = [
    "Agent",
    "AgentResult",
    "Ask",
    "CommandResult",
    "Finding",
    "FindingCategory",
    "FindingGroup",
    "FindingStatus",
    "FindingTracker",
    "FixAttempt",
    "FixCycleResult",
    "FixEngine",
    "FixEvent",
    "FixEventType",
    "FixEvents",
    "FixLoopExit",
    "FixOpts",
    "FixPromptBuilder",
    "FixReport",
    "FixerInput",
    "FixerInputItem",
    "FixerOutput",
    "FixerOutputItem",
    "FunctionAgent",
    "IssueRegistry",
    "Outcome",
    "Outcomes",
    "PunchlistError",
    "Reply",
    "ReviewFinding",
    "ReviewFindings",
    "ReviewFixResult",
    "ReviewResult",
    "Severity",
    "TechDebtIssueResult",
    "TrackedFinding",
    "Tracker",
    "UsageError",
    "VerificationReport",
    "VerificationRunner",
    "VerificationStatus",
    "check_fix_loop_exit",
    "create_issue_registry",
    "create_issues",
    "create_tech_debt_issues",
    "detect_deleted_files",
    "make_result",
    "open_tracker",
    "prepare_fixer_input",
    "review_and_fix",
    "update_issue_registry",
]
