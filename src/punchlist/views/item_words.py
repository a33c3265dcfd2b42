"""What is said of an item: its proof, and why it is not fixed."""

from punchlist.model.item.item import Fact, Item, Status

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
