"""The state of a run: the rule that finds it, and the words in which people read it."""

from enum import StrEnum

from msgspec import Struct

from punchlist.model.item.item import ENDED, Status
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run, count_statuses
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
    QUEUED = "queued"


STATE_WORDS = {
    State.ENDED: "ended",
    State.WAITING: "waiting for an answer",
    State.STOPPED: "stopped",
    State.UNDER_WAY: "running",
    State.KILLED: "killed",
    State.QUEUED: "queued",
}
OUTCOME_WORDS = {
    RunOutcome.CLEAN: ("clean", "nothing was found"),
    RunOutcome.NOTHING_FOUND: ("nothing found", "in what was looked at"),
    RunOutcome.FIXED: ("fixed", "everything found was fixed or dismissed"),
    RunOutcome.DISMISSED: ("dismissed", "everything found was dismissed"),
    RunOutcome.LEFTOVERS: ("unresolved", "some findings are left"),
    RunOutcome.INCOMPLETE: ("incomplete", "not everything could be reviewed or done"),
}
"""By outcome: the word for it, and what it means."""
_REVIEW = "review"


def is_review(run: Run) -> bool:
    """Return whether the run only reviews: its workflow fixes, files and checks nothing."""
    return run.started.workflow_name == _REVIEW


def describe_outcome(outcome: RunOutcome, left_out: int) -> str:
    """Return the word for an outcome and its meaning; `left_out`: how many findings are."""
    word, meaning = OUTCOME_WORDS[outcome]
    found_some = outcome is RunOutcome.CLEAN and left_out
    return f"{word}: {'nothing was found that counts' if found_some else meaning}"


def find_state(run: Run | RunRow, *, driven: bool, queued: bool = False) -> State:
    """Return the state of a run, or of its row; `driven`: a process drives it at this moment;
    `queued`: it waits for a worker.
    """
    if run.ended if isinstance(run, Run) else run.outcome:
        return State.ENDED
    if driven:
        return State.UNDER_WAY
    if queued:
        return State.QUEUED
    if run.waits:
        return State.WAITING
    return State.STOPPED if run.paused else State.KILLED


def describe_state(state: State, outcome: str = "") -> str:
    """Return the word for an ended run's outcome, or for the state of another."""
    return OUTCOME_WORDS[RunOutcome(outcome)][0] if outcome else STATE_WORDS[state]


class RunResult(Struct, frozen=True):
    """What an ended run came to, in a few words. `tone`: good, done, plain, warn or bad."""

    text: str
    tone: str


_TONES = {
    RunOutcome.CLEAN: "good",
    RunOutcome.NOTHING_FOUND: "plain",
    RunOutcome.FIXED: "good",
    RunOutcome.DISMISSED: "plain",
    RunOutcome.INCOMPLETE: "bad",
}


def find_result(run: Run) -> RunResult | None:
    """Return the result of a run that has ended. A run warns only if something is unresolved: an
    item that was filed is resolved.
    """
    if not run.ended:
        return None
    outcome = run_outcome(run)
    if outcome is not RunOutcome.LEFTOVERS:
        return RunResult(OUTCOME_WORDS[outcome][0], _TONES[outcome])
    tally = count_statuses(run.items)
    left = sum(count for status, count in tally.items() if status not in ENDED)
    left += len(run.reviewing.refused) + len(run.old_must_fix)
    if left:
        return RunResult(f"{left:,} unresolved", "warn")
    ends = (Status.FIXED, Status.FILED, Status.DISMISSED)
    said = [f"{tally[status]:,} {status}" for status in ends if tally[status]]
    return RunResult(", ".join(said), "done")
