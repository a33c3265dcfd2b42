"""When a loop has done its work, and when it only goes in circles."""

from itertools import pairwise

from punchlist.model.item.item import ACTIONABLE, Move
from punchlist.model.ledger.run import Run
from punchlist.steps.support.batching import CHURN, given_up, tryable
from punchlist.steps.support.batching import Options as PlanOptions
from punchlist.workflow import Do, Repeat, Until, Workflow

_NO_FEWER = 2
"""Rounds without fewer items before the loop is called churning."""


def stop_reason(until: Until, run: Run, workflow: Workflow) -> str:
    """Why to stop, or an empty string to go on."""
    match until:
        case Until.SETTLED:
            return _settled(run, _plan(workflow))
        case Until.NO_MUST_FIX:
            return _no_must_fix(run)
        case Until.CONVERGED:
            return _no_must_fix(run) or _churning(run)


def put_off(run: Run, workflow: Workflow) -> tuple[Move, ...]:
    """Items that agents put off as often as the workflow lets them: with the round they are
    blocked.
    """
    return given_up(run, _plan(workflow))


def _plan(workflow: Workflow) -> PlanOptions:
    """How this workflow plans: an item is settled when its own plan would not take it up again."""
    bodies = [step.steps if isinstance(step, Repeat) else (step,) for step in workflow.steps]
    chosen = (step.options for body in bodies for step in body if isinstance(step, Do))
    return next((options for options in chosen if isinstance(options, PlanOptions)), PlanOptions())


def _settled(run: Run, plan: PlanOptions) -> str:
    if not run.work.batches:
        return "settled: nothing more could be tried"
    return "" if any(tryable(item, plan, run) for item in run.items.values()) else "settled"


def _no_must_fix(run: Run) -> str:
    """Who failed to review may have something to say: the next round asks them again."""
    open_ = any(item.must_fix and item.status in ACTIONABLE for item in run.items.values())
    return "" if open_ or run.blind else "no must-fix item is open"


def _churning(run: Run) -> str:
    undone = [item.number for item in run.items.values() if item.undone >= CHURN]
    if undone:
        return f"churning: item {undone[0]} came back after {CHURN} fixes"
    left = [item for item in run.having(*ACTIONABLE) if item.in_scope]
    if (
        left
        and _stuck([*(past.open for past in run.position.rounds), len(left)])
        and _stuck(
            [*(past.must_fix for past in run.position.rounds), sum(item.must_fix for item in left)]
        )
    ):
        return f"churning: no fewer items in {_NO_FEWER} rounds"
    return ""


def _stuck(counts: list[int]) -> bool:
    recent = counts[-_NO_FEWER - 1 :]
    return len(recent) > _NO_FEWER and all(later >= earlier for earlier, later in pairwise(recent))
