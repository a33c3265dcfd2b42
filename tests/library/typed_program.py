"""A program that uses every exported name of the library; mypy checks it strictly with the sources."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from punchlist import __version__, library
from punchlist.library import (
    Agent,
    AgentResult,
    Ask,
    CommandResult,
    Finding,
    FindingCategory,
    FindingGroup,
    FindingStatus,
    FindingTracker,
    FixAttempt,
    FixCycleResult,
    FixEngine,
    FixerInput,
    FixerInputItem,
    FixerOutput,
    FixerOutputItem,
    FixEvent,
    FixEvents,
    FixEventType,
    FixLoopExit,
    FixOpts,
    FixPromptBuilder,
    FixReport,
    FunctionAgent,
    IssueRegistry,
    Outcome,
    Outcomes,
    PunchlistError,
    Reply,
    ReviewFinding,
    ReviewFindings,
    ReviewFixResult,
    ReviewResult,
    Severity,
    TechDebtIssueResult,
    TrackedFinding,
    Tracker,
    UsageError,
    VerificationReport,
    VerificationRunner,
    VerificationStatus,
    check_fix_loop_exit,
    create_issue_registry,
    create_issues,
    create_tech_debt_issues,
    detect_deleted_files,
    make_result,
    open_tracker,
    prepare_fixer_input,
    review_and_fix,
    update_issue_registry,
)

RESULT_OF_RUN = make_result


def track_findings() -> Sequence[TrackedFinding[Finding]]:
    finding = Finding("F001", "a.py", "4", "a fault", "major", "testing", fix_hint="mend it")
    tracker = FindingTracker(ReviewResult((FindingGroup("all", (finding,)),)), max_retries=2)
    tracker.record_outcomes(Outcomes((Outcome("F001", "deferred", "no time"),)))
    attempt: FixAttempt = tracker.tracked[0].attempts[0]
    assert attempt.outcome is FindingStatus.DEFERRED
    try:
        tracker.record_outcome("F009", "fixed", "")
    except UsageError as error:
        known: PunchlistError = error
        assert known.hint
    return tracker.get_unresolved()


def keep_registry() -> IssueRegistry:
    found = ReviewFinding(Severity.MAJOR, FindingCategory.SECURITY, "a fault", file_path="a.py")
    review = ReviewFindings((found,), summary="one")
    registry = detect_deleted_files(create_issue_registry(review.findings), Path("/nowhere"))
    asked: FixerInput = prepare_fixer_input(registry)
    items: tuple[FixerInputItem, ...] = asked.items
    assert not items
    said = FixerOutput((FixerOutputItem("F001", FindingStatus.FIXED),))
    ended: FixLoopExit = check_fix_loop_exit(update_issue_registry(registry, said))
    assert ended.should_exit
    return IssueRegistry.from_dict(registry.to_dict())


def build_prompt() -> str:
    failed = CommandResult("pytest", passed=False, output="1 failed")
    told = VerificationReport(VerificationStatus.FAILED, (failed,), ("pytest: 1 failed",))
    cycle = FixCycleResult(1, told, agent_results=(AgentResult("helper"),))
    report = FixReport((cycle,), told.status, 1)
    findings = [tracked.finding for tracked in track_findings()]
    return FixPromptBuilder(["short names"], ["pytest"]).build(findings, "", report.cycles)


class Echo:
    """An agent of the program's own."""

    name = "echo"

    async def ask(self, ask: Ask, hear: object) -> Reply:
        return Reply(agent=self.name, text=ask.prompt)


async def answer(prompt: str, folder: Path) -> str:
    return f"{folder}: {prompt}"


async def file_findings(tracker: Tracker) -> list[TechDebtIssueResult]:
    results = await create_issues(track_findings(), tracker)
    return results + await create_tech_debt_issues(keep_registry(), tracker, ["debt"])


async def use_repository(root: Path) -> ReviewFixResult:
    async with open_tracker(root) as tracker:
        await file_findings(tracker)
    agents: list[str | Agent] = ["claude", Echo(), FunctionAgent("helper", answer)]
    events = FixEvents()
    engine = FixEngine(agents[1], VerificationRunner(["pytest -q"], timeout=60), 2, events)
    report = await engine.fix(FixOpts([], repository=root))
    assert report.final_status is VerificationStatus.UNVERIFIED
    async for event in events:
        kind: FixEventType = event.type
        assert kind
    return await review_and_fix("feature", 2, repository=root, agents=["claude"])


def run_without_repository() -> None:
    assert __version__
    assert library.Finding is Finding
    assert "1 failed" in build_prompt()
    assert keep_registry().get_by_status(FindingStatus.BLOCKED)
    event = FixEvent(FixEventType.FIX_STARTED, 0, "begins", datetime.now(UTC))
    assert FixEvent.from_dict(event.to_dict()) == event
    empty = asyncio.run(FixEngine(Echo()).fix(FixOpts(findings=[])))
    assert empty == FixReport()
