"""A run as a surface tells it: one frozen document behind the summary, the status and --json."""

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from punchlist.cli.exits import Exit
from punchlist.model.change import Change
from punchlist.model.item import Fact, Item, Status, reading_order
from punchlist.model.outcome import Outcome
from punchlist.model.run import Question, Round, Run, counts
from punchlist.model.usage import Usage

_SETBACKS = frozenset({Fact.REJECTED, Fact.SAID_DEFERRED, Fact.SAID_BLOCKED, Fact.CONTESTED, Fact.DISMISSED, Fact.SEEN_AGAIN})
_EXITS = {Outcome.CLEAN: Exit.FINE, Outcome.FIXED: Exit.FINE, Outcome.LEFTOVERS: Exit.LEFT, Outcome.INCOMPLETE: Exit.INCOMPLETE}


class ItemView(Struct, frozen=True, kw_only=True):
    item: int
    status: Status
    severity: str
    title: str
    rule: str
    path: str
    line: int | None
    sources: tuple[str, ...]
    in_scope: bool
    proof: tuple[str, ...]
    commit: str
    issue: str
    why: str


class RunView(Struct, frozen=True, kw_only=True):
    run: str
    state: str
    outcome: str
    exit: int
    workflow: str
    repository: str
    base: str
    head: str
    branch: str
    commits: int
    seconds: float
    usage: Usage
    reported: int
    unreadable: int
    merged: int
    outside: int
    statuses: dict[Status, int]
    proofs: dict[str, int]
    rounds: tuple[Round, ...]
    not_checked: tuple[str, ...]
    question: Question | None
    reports: tuple[str, ...]
    items: tuple[ItemView, ...]


def exit_of(run: Run) -> Exit:
    if run.ended:
        return _EXITS[Outcome(run.ended)]
    if run.waiting_for is not None:
        return Exit.WAITING
    return Exit.INTERRUPTED if run.interrupted else Exit.INCOMPLETE


def state_of(run: Run) -> str:
    if run.ended:
        return "ended"
    if run.waiting_for is not None:
        return "waiting for an answer"
    return "stopped" if run.interrupted else "under way, or killed"


def view_of(run: Run) -> RunView:
    started = run.started
    change = started.change if started else None
    return RunView(
        run=run.id,
        state=state_of(run),
        outcome=run.ended,
        exit=int(exit_of(run)),
        workflow=started.workflow_name if started else "",
        repository=started.repository if started else "",
        base=change.base if change else "",
        head=change.head if change else "",
        branch=run.branch if run.landed else "",
        commits=len(run.landed),
        seconds=round(run.active, 3),
        usage=run.usage,
        reported=run.reported,
        unreadable=len(run.refused),
        merged=sum(len(item.findings) - 1 for item in run.items.values()),
        outside=len(run.items) - len(run.in_scope),
        statuses=counts(run.items),
        proofs=dict(Counter(proof_of(item) for item in run.in_scope if item.status is Status.FIXED)),
        rounds=run.rounds,
        not_checked=tuple(not_checked(run)),
        question=run.waiting_for,
        reports=run.artifacts,
        items=tuple(item_view(item) for item in sorted(run.items.values(), key=reading_order)),
    )


def item_view(item: Item) -> ItemView:
    lead = item.lead
    return ItemView(
        item=item.number,
        status=item.status,
        severity=item.severity.value,
        title=lead.title,
        rule=lead.rule,
        path=lead.spot.path,
        line=lead.spot.line,
        sources=tuple(sorted({finding.source for finding in item.findings})),
        in_scope=item.in_scope,
        proof=tuple(proof.kind.value for proof in item.proofs),
        commit=item.commit,
        issue=item.issue,
        why=why_of(item),
    )


def proof_of(item: Item) -> str:
    """Every kind of proof it has, strongest first."""
    kinds = sorted({proof.kind for proof in item.proofs}, key=lambda kind: -kind.strength)
    return " + ".join(kinds) or "no proof"


def why_of(item: Item) -> str:
    """Why it is not fixed, in the words of whoever said so last; of a fixed or untouched item nothing."""
    if item.status is Status.FIXED:
        return ""
    setback = next((attempt for attempt in reversed(item.attempts) if attempt.fact in _SETBACKS and attempt.why), None)
    if setback is not None:
        return setback.why
    return "" if item.current.fix is not None else "no fix is known"


def not_checked(run: Run) -> Iterator[str]:
    """What this run cannot vouch for."""
    yield from (f"{each} (it said nothing that counts)" for each in run.blind)
    yield from (f"{review.reviewer}: {review.skipped}" for review in run.reviews.values() if review.skipped)
    if run.unverified and run.landed:
        yield f"no check judged the fixes: {run.unverified}"
    if run.halted:
        yield f"stopped early: {run.halted}"
    if run.refused:
        yield f"{len(run.refused)} entries of the given findings could not be understood; they are kept in the ledger"
    yield from run.trouble
    yield from (f"item {number} could not be filed: {why}" for number, why in run.unfiled.items())
    yield from _left_out(run.started.change if run.started else None)


def _left_out(change: Change | None) -> Iterator[str]:
    if change is not None:
        yield from change.notes
