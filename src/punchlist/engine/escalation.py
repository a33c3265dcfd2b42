"""What a loop asks the user at its limit, and what the answer does to the items."""

from collections import Counter
from collections.abc import Iterator, Sequence

from punchlist.engine.position import MORE, PendingDecision
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import ACTIONABLE, Fact, Item, Move, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Question, Run
from punchlist.model.ledger.timeline import pluralize
from punchlist.views.findings_document import LEVELS, document_path, list_findings
from punchlist.views.item_words import ACCEPT, ACCEPTED

_BLOCK = "a"


def ask_user(at: PendingDecision, run: Run, unsettled: Sequence[Item], reason: str) -> ev.Asked:
    """Return the question, with the counts of the round's findings document and its path."""
    choices = {
        _BLOCK: "manual review and fix: the open items are blocked, and the run ends",
        ACCEPT: "accept the findings (not recommended): the open items are dismissed on your word",
    }
    if at.left > 0:
        choices[MORE] = f"continue with 1 more review round ({at.left} can still be granted)"
    lines = (*_render_counts(at.round, run), *_render_reasons(run, unsettled, reason))
    return ev.Asked(question="\n".join(lines), choices=choices)


def _render_counts(round_: int, run: Run) -> Iterator[str]:
    count = Counter(entry.finding.severity for entry in list_findings(run, round_))
    story = run.started.story
    yield from [f"{story.label}: review blocked"] if story.id else ()
    left = "issues remain" if count else "the review is not complete"
    yield f"After {pluralize(round_, 'review round')}, {left}:"
    yield from (f"- {LEVELS[severity]}: {count[severity]}" for severity in Severity)
    if path := document_path(run):
        yield f"Findings document: {path}"


def _render_reasons(run: Run, unsettled: Sequence[Item], reason: str) -> Iterator[str]:
    blocked = [item for item in unsettled if item.status is Status.BLOCKED]
    if blocked:
        last = next(each for each in reversed(blocked[0].attempts) if each.why)
        who = "Punchlist" if last.by == "punchlist" else "The fixer"
        yield f"{who} calls {len(blocked)} of them blocked, for example: {last.why}."
    elif reason and unsettled:
        yield f"The loop makes no progress ({reason})."
    if run.blind:
        yield f"Not reviewed to the end: {'; '.join(run.blind)}."


def apply_answer(at: PendingDecision, question: Question, run: Run) -> ev.RoundEnded:
    """Return the end of the loop: all open items are blocked, or dismissed on the user's word."""
    fact, stop, why = Fact.SAID_BLOCKED, "blocked", "blocked after"
    if question.answer == ACCEPT:
        fact, stop, why = Fact.DISMISSED, "accepted", ACCEPTED
    moves = tuple(
        Move(item.number, fact, by=question.by, why=f"{why} {at.round} rounds")
        for item in run.find_items(*ACTIONABLE, Status.BLOCKED)
        if item.in_scope
    )
    return ev.RoundEnded(round=at.round, stop=f"{stop} by {question.by}", moves=moves)


def retry_items(items: Sequence[Item], by: str, why: str) -> tuple[Move, ...]:
    """Return moves with which the next fixer gets the items, whatever was said of them before."""
    return tuple(Move(item.number, Fact.REOPENED, by=by, why=why) for item in items)
