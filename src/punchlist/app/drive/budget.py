"""What runs may cost together: on a day, in a month, of a repository, of a pull request."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.session import Session
from punchlist.errors import BudgetSpent
from punchlist.model.item.usage import UNKNOWN_COST, Usage
from punchlist.model.ledger.events import Started
from punchlist.model.ledger.run import Run
from punchlist.settings import decode_settings, encode_settings

_DAY = 86400
NO_AGENTS = "No agent was asked: "
"""How the note begins that a budget is spent."""


class Budget(Struct, frozen=True):
    """`most` dollars; `what` says of what, `setting` where it is set."""

    most: float
    what: str
    setting: str
    spent: Usage

    @property
    def left(self) -> float:
        return 0 if self.spent.unpriced else max(0, self.most - self.spent.dollars)

    @property
    def trouble(self) -> str:
        """Why no agent may be asked any more, or ""."""
        name = f"the budget of ${self.most:g} {self.what} ({self.setting})"
        if self.spent.unpriced:
            return f"{name} cannot be kept: {UNKNOWN_COST}"
        return "" if self.left else f"{name} is spent"


def start_of_day(now: float) -> float:
    """Return when the day began, in UTC."""
    return now - now % _DAY


def start_of_month(now: float) -> float:
    """Return when the calendar month began, in UTC."""
    day = datetime.fromtimestamp(now, UTC)
    return datetime(day.year, day.month, 1, tzinfo=UTC).timestamp()


def list_budgets(session: Session, pull: str = "") -> Iterator[Budget]:
    """Yield the budgets of the month, the repository and the pull request that are set, with what
    is spent of each.
    """
    limits, store = session.settings().settings.limits, session.store
    month = start_of_month(time.time())
    if limits.monthly:
        spent = store.sum_usage(month)
        yield Budget(limits.monthly, "a month", "limits.monthly", spent)
    if limits.repository:
        runs = [row.id for row in session.runs() if row.last_at >= month]
        spent = store.sum_usage(month, runs)
        yield Budget(limits.repository, "a month for this repository", "limits.repository", spent)
    if limits.pull_request and pull:
        spent = store.sum_usage(0, _runs_of(session, pull))
        yield Budget(limits.pull_request, "for this pull request", "limits.pull-request", spent)


def _runs_of(session: Session, pull: str) -> list[str]:
    """Return the runs about a pull request."""
    key = session.key
    begun = session.store.read_kind("started", key.path, key.identity)
    return [
        entry.run
        for entry in begun
        if isinstance(entry.event, Started) and entry.event.pull == pull
    ]


def find_spent(session: Session, pull: str = "") -> str:
    """Return why no agent may be asked any more, or ""."""
    return next(filter(None, (each.trouble for each in list_budgets(session, pull))), "")


def watch_budgets(session: Session, run: Run) -> Callable[[], str]:
    """Return what says during a run why no agent may be asked any more: others spend as well."""
    limits = session.settings().settings.limits
    if not run.started.crew or not (limits.monthly or limits.repository or limits.pull_request):
        return lambda: ""
    return lambda: find_spent(session, run.started.pull)


def require_budget(session: Session) -> float:
    """Return the dollars that are left of `limits.daily`, 0 if there is no such limit. Raise
    BudgetSpent if none are, or if that is not known.
    """
    most = session.settings().settings.limits.daily
    if not most:
        return 0
    spent = session.store.sum_usage(start_of_day(time.time()))
    budget = Budget(most, "a day", "limits.daily", spent)
    if budget.trouble:
        hint = "go on tomorrow (UTC), or raise the limit"
        if spent.unpriced:
            hint = "`punchlist fleet` shows what was spent today"
        raise BudgetSpent(budget.trouble, hint=hint)
    return budget.left


def limit_start(session: Session, run: Run) -> Started:
    """Return how the run began, with a limit of dollars that keeps it within what is left of each
    budget. Raise BudgetSpent if nothing is left of the day. A run without agents costs nothing.
    """
    if not run.started.crew:
        return run.started
    day = require_budget(session)
    left = [each.left for each in list_budgets(session, run.started.pull)]
    left += [day] if day else []
    if not left:
        return run.started
    # 0 would be no limit.
    most = max(run.usage.dollars + min(left), 1e-9)
    limit = decode_settings(run.started.settings).settings.limits.dollars
    return set_dollar_limit(run.started, min(limit or most, most))


def set_dollar_limit(started: Started, dollars: float) -> Started:
    """Return how a run began, with this limit of dollars."""
    loaded = decode_settings(started.settings)
    limits = replace(loaded.settings.limits, dollars=dollars)
    loaded = replace(loaded, settings=replace(loaded.settings, limits=limits))
    return replace(started, settings=encode_settings(loaded))
