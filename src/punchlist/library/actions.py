"""What is done with a registry: made of reviews, handed to a fixer, updated, ended, filed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from punchlist.errors import UsageError
from punchlist.library.fixer_io import FixerInput, FixerInputItem, FixerOutput, FixerOutputItem
from punchlist.library.issues import TechDebtIssueResult, create_issues
from punchlist.library.json_values import JsonValue
from punchlist.library.review_findings import IssueRegistry, ReviewFinding
from punchlist.library.tracked import (
    FindingStatus,
    FixAttempt,
    TrackedFinding,
    block_deleted,
    current_time,
)
from punchlist.model.dedup.merge import MergeRule, group_findings
from punchlist.model.finding.severity import worst_severity
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.item import Fact
from punchlist.ports.tracker import Tracker
from punchlist.steps.support.agent_fix import apply_report
from punchlist.views.plans.plan_forms import item_code


class FixLoopExit(JsonValue, frozen=True):
    """Whether the loop ends, and why; the counts are those of the registry."""

    should_exit: bool
    reason: str = ""
    iteration: int = 0
    actionable: int = 0
    fixed: int = 0
    blocked: int = 0
    deferred: int = 0


_STATUS = {
    Fact.SAID_FIXED: FindingStatus.FIXED,
    Fact.SAID_BLOCKED: FindingStatus.BLOCKED,
    Fact.SAID_DEFERRED: FindingStatus.DEFERRED,
    Fact.EXCUSE_REFUSED: FindingStatus.OPEN,
}


def create_issue_registry(
    spec_findings: Sequence[ReviewFinding],
    tech_findings: Sequence[ReviewFinding] = (),
    *,
    max_iterations: int = 3,
) -> IssueRegistry:
    """Return a registry of both reviews. Findings of one file at most five lines apart, with titles
    that differ in less than three tenths, become one: with the higher severity and all texts.
    """
    if max_iterations < 1:
        wrong = f"max_iterations is {max_iterations}: without a round nothing can be fixed"
        raise UsageError(wrong, hint="at least 1")
    reported = [
        replace(each, reviewer=each.reviewer or source)
        for source, findings in (("spec", spec_findings), ("technical", tech_findings))
        for each in findings
    ]
    models = [each.to_finding(str(index), "") for index, each in enumerate(reported)]
    groups = group_findings(models, MergeRule.NEAR)
    merged = (_merge_findings([reported[int(each.id)] for each in group]) for group in groups)
    return IssueRegistry(
        findings=tuple(
            TrackedFinding(replace(each, id=item_code(number)))
            for number, each in enumerate(merged, 1)
        ),
        max_iterations=max_iterations,
    )


def _merge_findings(group: Sequence[ReviewFinding]) -> ReviewFinding:
    lead, others = group[0], group[1:]
    texts = [lead.description, *(_describe_other(each, lead) for each in others)]
    fixes = dict.fromkeys(each.suggested_fix for each in group if each.suggested_fix)
    return replace(
        lead,
        severity=worst_severity([each.severity for each in group]),
        description="\n\n".join(dict.fromkeys(filter(None, texts))),
        suggested_fix="\n".join(fixes),
        reviewer=", ".join(dict.fromkeys(each.reviewer for each in group)),
    )


def _describe_other(finding: ReviewFinding, lead: ReviewFinding) -> str:
    parts = (finding.title if finding.title != lead.title else "", finding.description)
    return ": ".join(filter(None, parts))


def detect_deleted_files(registry: IssueRegistry, repository: str | Path = ".") -> IssueRegistry:
    """Return the registry with every finding blocked that can be worked on and whose file does not
    exist; no fixer is asked about it.
    """
    root = Path(repository)
    return replace(
        registry, findings=tuple(block_deleted(tracked, root) for tracked in registry.findings)
    )


def prepare_fixer_input(registry: IssueRegistry) -> FixerInput:
    """Return the open and deferred findings, with the attempts so far."""
    return FixerInput(
        iteration=registry.iteration + 1,
        items=tuple(
            FixerInputItem(
                finding_id=each.finding.id,
                severity=each.finding.severity,
                title=each.finding.title,
                description=each.finding.description,
                file_path=each.finding.file_path,
                line_start=each.finding.line_start,
                line_end=each.finding.line_end,
                suggested_fix=each.finding.suggested_fix,
                previous_attempts=each.attempts,
            )
            for each in registry.get_actionable()
        ),
    )


def update_issue_registry(registry: IssueRegistry, fixer_output: FixerOutput) -> IssueRegistry:
    """Return the registry after a round of fixing. What the fixer did not report on is deferred; a
    weak reason for deferring is refused, and the finding is open again; a weak reason for blocking
    is flagged.
    """
    asked = prepare_fixer_input(registry)
    said = {item.finding_id: item for item in fixer_output.complete(asked).items}
    return replace(
        registry,
        iteration=asked.iteration,
        findings=tuple(
            _apply_item(tracked, said[tracked.finding.id], asked.iteration)
            if tracked.finding.id in said
            else tracked
            for tracked in registry.findings
        ),
    )


def _apply_item(
    tracked: TrackedFinding[ReviewFinding], item: FixerOutputItem, iteration: int
) -> TrackedFinding[ReviewFinding]:
    why = item.justification.strip() or item.changes_made.strip()
    claim = ItemClaim(0, ClaimOutcome(item.status.value), why)
    moves = list(apply_report(claim, "fixer", "", ""))
    attempt = FixAttempt(
        timestamp=current_time(),
        outcome=_STATUS[moves[0].fact],
        explanation=moves[0].why,
        iteration=iteration,
        by="fixer",
        refused="; ".join(move.why for move in moves[1:]),
    )
    return tracked.with_attempt(attempt, _STATUS[moves[-1].fact])


def check_fix_loop_exit(registry: IssueRegistry) -> FixLoopExit:
    """Return whether another round is of use: not if nothing is left to try, or at the limit."""
    counts = registry.count_by_status()
    actionable = len(registry.get_actionable())
    reason = next(_find_reasons(registry, actionable), "")
    return FixLoopExit(
        should_exit=bool(reason),
        reason=reason,
        iteration=registry.iteration,
        actionable=actionable,
        fixed=counts[FindingStatus.FIXED],
        blocked=counts[FindingStatus.BLOCKED],
        deferred=counts[FindingStatus.DEFERRED],
    )


def _find_reasons(registry: IssueRegistry, actionable: int) -> Iterator[str]:
    if not actionable:
        yield "no finding is open or deferred"
    if registry.iteration >= registry.max_iterations:
        yield f"the limit of {registry.max_iterations} iterations is reached"


async def create_tech_debt_issues(
    registry: IssueRegistry, tracker: Tracker, labels: Sequence[str] = ("tech-debt",)
) -> list[TechDebtIssueResult]:
    """File every finding that is not fixed, with its whole history; one that has an issue keeps
    it.
    """
    return await create_issues(registry.get_unresolved(), tracker, labels)
