"""The state of a run: the rule that finds it, and the words in which people read it."""

from enum import StrEnum

from punchlist.model.ledger.outcome import RunOutcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow


class State(StrEnum):
    """The state of a run; the values are those of `--json` and MCP. KILLED: it neither ended nor
    was stopped, and no process drives it.
    """

    ENDED = "ended"
    WAITING = "waiting for an answer"
    STOPPED = "stopped"
    UNDER_WAY = "under way"
    KILLED = "killed"


STATE_WORDS = {
    State.ENDED: "ended",
    State.WAITING: "waiting for an answer",
    State.STOPPED: "stopped",
    State.UNDER_WAY: "running",
    State.KILLED: "killed",
}
OUTCOME_WORDS = {
    RunOutcome.CLEAN: ("clean", "nothing was found"),
    RunOutcome.FIXED: ("fixed", "everything found was fixed or dismissed"),
    RunOutcome.DISMISSED: ("dismissed", "everything found was dismissed"),
    RunOutcome.LEFTOVERS: ("unresolved", "some findings are left"),
    RunOutcome.INCOMPLETE: ("incomplete", "not everything could be reviewed or done"),
}
"""By outcome: the word for it, and what it means."""


def describe_outcome(outcome: RunOutcome, left_out: int) -> str:
    """Return the word for an outcome and its meaning; `left_out`: how many findings are."""
    word, meaning = OUTCOME_WORDS[outcome]
    found_some = outcome is RunOutcome.CLEAN and left_out
    return f"{word}: {'nothing was found that counts' if found_some else meaning}"


def find_state(run: Run | RunRow, *, driven: bool) -> State:
    """Return the state of a run, or of its row; `driven`: a process drives it at this moment."""
    if run.ended if isinstance(run, Run) else run.outcome:
        return State.ENDED
    if driven:
        return State.UNDER_WAY
    if run.waits:
        return State.WAITING
    return State.STOPPED if run.paused else State.KILLED


def describe_state(state: State, outcome: str = "") -> str:
    """Return the word for an ended run's outcome, or for the state of another."""
    return OUTCOME_WORDS[RunOutcome(outcome)][0] if outcome else STATE_WORDS[state]
