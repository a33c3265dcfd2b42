"""What is said of an item: its proof, and why it is not fixed."""

from collections.abc import Iterable

from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.ledger.events import Examined, Landed
from punchlist.model.ledger.run import Run
from punchlist.model.patch.hunk import Diff

_SETBACKS = frozenset(Fact) - {Fact.SAID_FIXED, Fact.CONFIRMED, Fact.COMMITTED, Fact.FILED}
ACCEPT = "b"
"""The answer with which the user accepts what a loop left."""
ACCEPTED = "accepted after"
"""How the reason of items begins that were dismissed by that answer."""
NO_FIX = "no fix is known"
PROOF_WORDS = {
    ProofClass.CLAIM: ("agent's claim", "the agent says so, and there is a change"),
    ProofClass.REVIEWED: ("second reviewer", "another reviewer or a challenger agrees"),
    ProofClass.CHECKED: ("tests pass", "the project's checks pass, compared with the baseline"),
    ProofClass.RECHECKED: ("analyzer clean", "the analyzer that found it reports it no longer"),
    ProofClass.WITNESSED: ("regression test", "a test fails without the fix and passes with it"),
    ProofClass.REPRODUCED: ("independent test", "a private test failed before and passes now"),
}
"""By kind of proof: the words for it, and what it means."""
FACTS = {
    Fact.SAID_FIXED: "fix claimed",
    Fact.SAID_DEFERRED: "deferred",
    Fact.SAID_BLOCKED: "blocked",
    Fact.EXCUSE_REFUSED: "excuse not accepted",
    Fact.SET_ASIDE: "set aside for a round",
    Fact.CONFIRMED: "fix confirmed",
    Fact.CONTESTED: "finding contested",
    Fact.CONTEST_AGREED: "finding contested, and agreed",
    Fact.REJECTED: "fix rejected",
    Fact.COMMITTED: "fix committed",
    Fact.FILED: "filed as an issue",
    Fact.DISMISSED: "dismissed",
    Fact.SEEN_AGAIN: "reported again",
    Fact.ABSENT: "agent absent, not counted as an attempt",
    Fact.REOPENED: "reopened",
    Fact.RESTORED: "dismissal undone",
}


def find_proofs(item: Item) -> list[ProofClass]:
    """Return every kind of proof it has, strongest first."""
    return sorted({proof.kind for proof in item.proofs}, key=lambda kind: -kind.strength)


def format_proofs(item: Item) -> str:
    """Return all kinds of proof, strongest first."""
    return " + ".join(PROOF_WORDS[kind][0] for kind in find_proofs(item)) or "no proof"


def find_notes(run: Run, item: Item) -> tuple[str, ...]:
    """Return all that is known of the item's last fix and is no proof, also if it did not land."""
    sure = run.by_item.confidence.get(item.number)
    said = () if sure is None else (f"the fixer calls itself {sure} of 100 sure",)
    return (*_find_seen(run, item), *said)


def _find_seen(run: Run, item: Item) -> tuple[str, ...]:
    diff = run.by_item.diffs.get(item.number)
    if item.notes or diff is None:
        return item.notes
    for past in reversed(run.history):
        if isinstance(past.event, Examined) and past.event.batch == diff.batch:
            return past.event.noted
    return ()


def describe_change(item: Item, diff: Diff, landed: Iterable[Landed]) -> str:
    """Return what became of the last change that was tried for the item, read from what landed."""
    if item.status is Status.FIXED:
        return f"Landed as {item.commit[:12]}"
    if has_landed(diff, landed):
        return "Landed, and the item came back"
    return "Tried, and not landed"


def has_landed(diff: Diff, landed: Iterable[Landed]) -> bool:
    return not diff.dropped and any(each.batch == diff.batch for each in landed)


def describe_proof(proof: Proof) -> str:
    return f"{PROOF_WORDS[proof.kind][0]}: {proof.said}"


def describe_attempt(attempt: Attempt) -> str:
    who = f" by {attempt.by}" if attempt.by else ""
    why = f": {attempt.why}" if attempt.why else ""
    return f"round {attempt.round}: {FACTS[attempt.fact]}{who}{why}"


def unfixed_reason(item: Item) -> str:
    """Return the reason of the last setback; '' for a fixed or untouched item."""
    if item.status is Status.FIXED:
        return ""
    setbacks = [each.why for each in item.attempts if each.fact in _SETBACKS and each.why]
    if setbacks:
        return setbacks[-1]
    return "" if item.current.fix is not None else NO_FIX
