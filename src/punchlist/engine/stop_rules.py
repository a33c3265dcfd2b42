"""When a loop is finished, and when it churns."""

from collections.abc import Collection
from itertools import pairwise

from punchlist.model.item.item import ACTIONABLE, Item, Move, Status
from punchlist.model.ledger.run import Run
from punchlist.steps.support.batching import CHURN, can_try, give_up_items
from punchlist.steps.support.batching import Options as PlanOptions
from punchlist.workflow.language import Do, Repeat, Until, Workflow

_ALL_OPEN = (*ACTIONABLE, Status.BLOCKED)
_NO_FEWER = 2
"""Rounds without fewer items before the loop is called churning."""


def stop_reason(until: Until, run: Run, workflow: Workflow, *, asks: bool = False) -> str:
    """Return why the loop stops, or '' to go on. If it `asks` the user at its limit, what a fixer
    calls blocked is open.
    """
    open_ = _ALL_OPEN if asks else ACTIONABLE
    match until:
        case Until.SETTLED:
            return _settled_reason(run, _find_plan_options(workflow))
        case Until.NO_MUST_FIX:
            return _done_reason(run, open_)
        case Until.CONVERGED:
            return _done_reason(run, open_) or _churn_reason(run, open_)


def find_unsettled(run: Run) -> list[Item]:
    """Return the must-fix items that a loop must not end with unless a person says so: the
    reviewers reported them, and neither a proof nor a person has settled them. A fixer's word that
    it is blocked settles nothing.
    """
    return [item for item in run.find_items(*_ALL_OPEN) if item.must_fix]


def block_deferred(run: Run, workflow: Workflow) -> tuple[Move, ...]:
    """Return moves that block the items which agents deferred as often as the workflow allows."""
    return give_up_items(run, _find_plan_options(workflow))


def _find_plan_options(workflow: Workflow) -> PlanOptions:
    """Return the options of the workflow's `plan` step, or the defaults."""
    bodies = [step.steps if isinstance(step, Repeat) else (step,) for step in workflow.steps]
    chosen = (step.options for body in bodies for step in body if isinstance(step, Do))
    return next((options for options in chosen if isinstance(options, PlanOptions)), PlanOptions())


def _settled_reason(run: Run, plan: PlanOptions) -> str:
    if not run.work.batches:
        return "settled: nothing more could be tried"
    return "" if any(can_try(item, plan, run) for item in run.items.values()) else "settled"


def _done_reason(run: Run, open_: Collection[Status]) -> str:
    """Return '' also if a reviewer failed: the next round asks it again."""
    left = any(item.must_fix for item in run.find_items(*open_))
    return "" if left or run.blind else "no must-fix item is open"


def _churn_reason(run: Run, open_: Collection[Status]) -> str:
    undone = [item.number for item in run.items.values() if item.undone >= CHURN]
    if undone:
        return f"churning: item {undone[0]} came back after {CHURN} fixes"
    left = [item for item in run.find_items(*open_) if item.in_scope]
    rounds = run.position.rounds
    counts = [*(past.open for past in rounds), len(left)]
    must_fix = [*(past.must_fix for past in rounds), sum(item.must_fix for item in left)]
    if left and _is_stuck(counts) and _is_stuck(must_fix):
        return f"churning: no fewer items in {_NO_FEWER} rounds"
    return ""


def _is_stuck(counts: list[int]) -> bool:
    recent = counts[-_NO_FEWER - 1 :]
    return len(recent) > _NO_FEWER and all(later >= earlier for earlier, later in pairwise(recent))
