"""When a loop has done its work, and when it only goes in circles."""

from collections.abc import Callable
from itertools import pairwise

from punchlist.model.item import ACTIONABLE
from punchlist.model.run import Run
from punchlist.steps.plan import CHURN, tryable
from punchlist.steps.plan import Options as PlanOptions
from punchlist.workflow import Until

_NO_FEWER = 2
"""Rounds without fewer items before the loop is called churning."""


def stop_reason(until: Until, run: Run) -> str:
    """Why to stop, or an empty string to go on."""
    return _REASONS[until](run)


def _settled(run: Run) -> str:
    if not run.work.batches:
        return "settled: nothing more could be tried"
    return "" if any(tryable(item, PlanOptions()) for item in run.items.values()) else "settled"


def _no_must_fix(run: Run) -> str:
    return "" if any(item.must_fix and item.status in ACTIONABLE for item in run.items.values()) else "no must-fix item is open"


def _converged(run: Run) -> str:
    return _no_must_fix(run) or _churning(run)


def _churning(run: Run) -> str:
    undone = [item.number for item in run.items.values() if item.undone >= CHURN]
    if undone:
        return f"churning: item {undone[0]} came back after {CHURN} fixes"
    left = run.having(*ACTIONABLE)
    if _stuck([*(past.open for past in run.rounds), sum(item.in_scope for item in left)]) and _stuck(
        [*(past.must_fix for past in run.rounds), sum(item.must_fix for item in left)]
    ):
        return f"churning: no fewer items in {_NO_FEWER} rounds"
    return ""


def _stuck(counts: list[int]) -> bool:
    recent = counts[-_NO_FEWER - 1 :]
    return len(recent) > _NO_FEWER and all(later >= earlier for earlier, later in pairwise(recent))


_REASONS: dict[Until, Callable[[Run], str]] = {
    Until.SETTLED: _settled,
    Until.NO_MUST_FIX: _no_must_fix,
    Until.CONVERGED: _converged,
}
