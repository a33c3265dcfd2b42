"""How a run stands: its state, its exit code, why an item is where it is, and the document behind --json."""

from msgspec import Struct

from punchlist.adapters.reports.document import Report, report
from punchlist.cli.exits import Exit
from punchlist.model.item import Fact, Item, Status
from punchlist.model.outcome import Outcome
from punchlist.model.run import Run

_SETBACKS = frozenset(
    {Fact.REJECTED, Fact.SAID_DEFERRED, Fact.SAID_BLOCKED, Fact.CONTESTED, Fact.CONTEST_AGREED, Fact.DISMISSED, Fact.SEEN_AGAIN}
)
_EXITS = {Outcome.CLEAN: Exit.FINE, Outcome.FIXED: Exit.FINE, Outcome.LEFTOVERS: Exit.LEFT, Outcome.INCOMPLETE: Exit.INCOMPLETE}


class RunDocument(Struct, frozen=True, kw_only=True):
    """What --json prints of a run. `report` is what `punchlist report --format json` prints."""

    run: str
    state: str
    exit: int
    files: tuple[str, ...]
    report: Report


def document(run: Run) -> RunDocument:
    return RunDocument(run=run.id, state=state_of(run), exit=int(exit_of(run)), files=run.artifacts, report=report(run))


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
