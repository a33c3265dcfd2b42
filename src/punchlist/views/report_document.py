"""The run as a JSON document with stable keys."""

from datetime import UTC, datetime

from msgspec import Struct, field

from punchlist._version import __version__
from punchlist.model.checks.check import Check
from punchlist.model.finding.finding import Finding, RefusedEntry
from punchlist.model.finding.severity import Severity
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import Attempt, Item, Status, reading_order
from punchlist.model.item.proof import Proof
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import Baselined
from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import LatestReview, Question, Round, Run
from punchlist.model.ledger.story import Story
from punchlist.model.ledger.timeline import Moment
from punchlist.model.patch.change import Change
from punchlist.model.patch.hunk import Diff
from punchlist.views.plans.plan_forms import issue_code, issue_id
from punchlist.views.summary import Gap, Numbers, summarize_run

SCHEMA = "punchlist-report/1"


class ReportedRun(Struct, frozen=True, kw_only=True):
    """Which run this is, and its inputs."""

    id: str
    repository: str
    workflow: str
    version: str
    """The punchlist that started it."""
    started_at: str
    """ISO 8601, UTC."""
    seconds: float
    """How long it was driven; a pause between two sittings does not count."""
    branch: str
    tip: str
    """The last commit of the branch; the reviewed head where nothing landed."""
    ended: bool
    halted: str
    interrupted: bool
    entries: int
    """Length of the ledger this report is made of."""
    rounds: int | None = None
    """How many rounds at most the user asked for; null: as the workflow says."""
    threshold: int | None = None
    """The least score that approves a fix, if the user asked for one."""
    story: Story = Story()
    """The story that the review is about, with `id` and `title`, if the user named one."""
    documents: tuple[str, ...] = ()
    """Findings documents in the user's checkout, by their path from its root."""


class ItemPart(Struct, frozen=True, kw_only=True):
    """One item with all that is known of it. The first of its `findings` leads."""

    number: int
    fingerprint: str
    title: str
    severity: Severity
    status: Status
    in_scope: bool
    left_out: str = ""
    """What leaves it out of the review: an option, a setting or the baseline."""
    path: str
    line: int | None
    commit: str
    issue: str
    unfiled: str
    """Why it could not be filed, if it could not."""
    proofs: tuple[Proof, ...]
    attempts: tuple[Attempt, ...]
    flags: tuple[str, ...]
    notes: tuple[str, ...] = ()
    """What stands beside the proofs of a fixed item: seen of its fix, and no proof."""
    sightings: int
    findings: tuple[Finding, ...]
    change: Diff | None
    """The last change that was tried for it; it landed if the item is fixed and has a commit."""
    score: Score | None
    """What the challenger said of it last."""
    issue_id: str = ""
    issue_code: str = ""
    """Its id and code as the client that chose it has them, else fingerprint and code (F007)."""
    category: str = ""
    confidence: int | None = None
    """How sure the fixer said it was of its last fix, 0 to 100; no proof."""


class CheckPart(Struct, frozen=True, kw_only=True):
    check: Check
    allowed: bool
    baseline: Baselined | None
    """What it said of the base; null where it was not run."""


class ReportDocument(Struct, frozen=True, kw_only=True):
    """The whole document."""

    schema: str = SCHEMA
    punchlist: str = field(default=__version__)
    """The version that wrote this document."""
    run: ReportedRun
    change: Change | None
    outcome: RunOutcome
    headline: str
    advice: str
    counts: Numbers
    by_status: dict[Status, int]
    """Items in scope."""
    not_checked: tuple[Gap, ...]
    unverified: str
    """Why no check judged the fixes, if none did."""
    items: tuple[ItemPart, ...]
    pending: tuple[Finding, ...]
    """Reported, and not yet sorted into items."""
    refused: tuple[RefusedEntry, ...]
    reviewers: tuple[LatestReview, ...]
    checks: tuple[CheckPart, ...]
    flaky: tuple[str, ...]
    rounds: tuple[Round, ...]
    questions: tuple[Question, ...]
    doubts: tuple[Doubt, ...]
    """What agents wanted to know, and what was answered."""
    crew: dict[str, tuple[str, ...]]
    """By role, the agents that play it."""
    usage: Usage
    trouble: tuple[str, ...]
    timeline: tuple[Moment, ...]


def make_report(run: Run) -> ReportDocument:
    summary = summarize_run(run)
    items = sorted(run.items.values(), key=reading_order)
    return ReportDocument(
        run=_describe_run(run),
        change=run.started.change,
        outcome=summary.outcome,
        headline=summary.headline,
        advice=summary.advice,
        counts=summary.numbers,
        by_status=summary.by_status,
        not_checked=summary.gaps,
        unverified=run.checks.unverified,
        items=tuple(make_item_part(item, run) for item in items),
        pending=run.reviewing.fresh,
        refused=run.reviewing.refused,
        reviewers=tuple(run.shown_reviews),
        checks=list_checks(run),
        flaky=tuple(sorted(run.checks.flaky)),
        rounds=run.position.rounds,
        questions=run.asking.questions,
        doubts=tuple(run.asking.doubts.values()),
        crew=run.started.crew,
        usage=run.usage,
        trouble=run.trouble,
        timeline=tuple(run.timeline),
    )


def _describe_run(run: Run) -> ReportedRun:
    started = run.started
    return ReportedRun(
        id=run.id,
        repository=started.repository,
        workflow=started.workflow_name,
        version=started.version,
        started_at=datetime.fromtimestamp(run.started_at, UTC).isoformat(timespec="seconds"),
        seconds=round(run.active, 3),
        branch=run.landing.branch,
        tip=run.landing.shown_tip,
        ended=bool(run.ended),
        halted=run.halted,
        interrupted=run.interrupted,
        entries=run.seq,
        rounds=started.rounds,
        threshold=started.threshold,
        story=started.story,
        documents=run.filing.placed,
    )


def make_item_part(item: Item, run: Run) -> ItemPart:
    return ItemPart(
        number=item.number,
        fingerprint=item.fingerprint,
        title=item.lead.title,
        severity=item.severity,
        status=item.status,
        in_scope=item.in_scope,
        left_out=item.left_out,
        path=item.lead.spot.path,
        line=item.lead.spot.line,
        commit=item.commit,
        issue=item.issue,
        unfiled=run.filing.unfiled.get(item.number, ""),
        proofs=item.proofs,
        attempts=run.list_attempts(item),
        flags=item.flags,
        notes=item.notes,
        sightings=item.sightings,
        findings=item.findings,
        change=run.by_item.diffs.get(item.number),
        score=run.by_item.scores.get(item.number),
        issue_id=issue_id(run, item.number),
        issue_code=issue_code(run, item.number),
        category=item.lead.category,
        confidence=run.by_item.confidence.get(item.number),
    )


def list_checks(run: Run) -> tuple[CheckPart, ...]:
    started = run.started
    find = run.checks.find_baseline
    return tuple(
        CheckPart(check=check, allowed=started.checks_allowed, baseline=find(check.name))
        for check in started.checks
    )
