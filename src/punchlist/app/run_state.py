"""How a run stands, and why an item is where it is: the words that every surface uses."""

from enum import StrEnum

from punchlist.model.item.item import Fact, Item, Status
from punchlist.model.ledger.run import Run
from punchlist.ports.store import RunRow

_SETBACKS = frozenset(
    {
        Fact.REJECTED,
        Fact.SAID_DEFERRED,
        Fact.SAID_BLOCKED,
        Fact.EXCUSE_REFUSED,
        Fact.SET_ASIDE,
        Fact.CONTESTED,
        Fact.CONTEST_AGREED,
        Fact.DISMISSED,
        Fact.SEEN_AGAIN,
        Fact.RESTORED,
    }
)
NO_FIX = "no fix is known"


class State(StrEnum):
    """Where a run stands. KILLED: it neither ended nor was stopped, and no process drives it."""

    ENDED = "ended"
    WAITING = "waiting for an answer"
    STOPPED = "stopped"
    UNDER_WAY = "under way"
    KILLED = "killed"


_LAST_WORDS = {
    "asked": State.WAITING,
    "clarified": State.WAITING,
    "interrupted": State.STOPPED,
    "answered": State.STOPPED,  # whoever answered has not let it go on yet
}


def state_of(run: Run, *, driven: bool = False) -> State:
    if run.ended:
        return State.ENDED
    if driven:
        return State.UNDER_WAY
    if run.waits:
        return State.WAITING
    answered = bool(run.timeline) and run.timeline[-1].verb == "answer"
    return State.STOPPED if run.interrupted or answered else State.KILLED


def state_of_row(row: RunRow, *, driven: bool) -> State:
    """The same, told by its end, or by the kind of the last entry of its own."""
    if row.outcome:
        return State.ENDED
    return State.UNDER_WAY if driven else _LAST_WORDS.get(row.last_kind, State.KILLED)


def proof_of(item: Item) -> str:
    """Every kind of proof it has, strongest first."""
    kinds = sorted({proof.kind for proof in item.proofs}, key=lambda kind: -kind.strength)
    return " + ".join(kinds) or "no proof"


def why_of(item: Item) -> str:
    """Why it is not fixed, in the words of whoever said so last; of a fixed or untouched item
    nothing.
    """
    if item.status is Status.FIXED:
        return ""
    setback = next(
        (
            attempt
            for attempt in reversed(item.attempts)
            if attempt.fact in _SETBACKS and attempt.why
        ),
        None,
    )
    if setback is not None:
        return setback.why
    return "" if item.current.fix is not None else NO_FIX
