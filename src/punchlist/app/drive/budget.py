"""What all runs of the store may cost on one day."""

import time

from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.errors import BudgetSpent
from punchlist.model.item.usage import UNKNOWN_COST
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.settings import decode_settings, encode_settings

_DAY = 86400


def start_of_day(now: float) -> float:
    """Return when the day began, in UTC."""
    return now - now % _DAY


def require_budget(session: Session) -> float:
    """Return the dollars that are left of `limits.daily`, 0 if there is no such limit. Raise
    BudgetSpent if none are, or if that is not known.
    """
    most = session.settings().settings.limits.daily
    if not most:
        return 0
    spent = session.store.sum_usage(start_of_day(time.time()))
    if spent.unpriced:
        what = f"the budget of ${most:g} a day (limits.daily) cannot be kept: {UNKNOWN_COST}"
        raise BudgetSpent(what, hint="punchlist fleet shows what was spent today")
    if spent.dollars >= most:
        what = f"the budget of ${most:g} a day (limits.daily) is spent"
        raise BudgetSpent(what, hint="go on tomorrow (UTC), or raise the limit")
    return most - spent.dollars


def limit_start(session: Session, run: Run) -> Started:
    """Return how the run began, with a limit of dollars that keeps it within what is left of the
    day. Raise BudgetSpent if nothing is. A run without agents costs nothing.
    """
    left = require_budget(session) if run.started.crew else 0
    if not left:
        return run.started
    loaded = decode_settings(run.started.settings)
    limits = loaded.settings.limits
    day = run.usage.dollars + left
    limits = replace(limits, dollars=min(limits.dollars or day, day))
    loaded = replace(loaded, settings=replace(loaded.settings, limits=limits))
    return replace(run.started, settings=encode_settings(loaded))
