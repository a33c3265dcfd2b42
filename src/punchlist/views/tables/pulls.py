"""Pull requests with their items, as surfaces show them."""

from msgspec import Struct

from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Item, Status, reading_order
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import web_address
from punchlist.views.item_words import unfixed_reason
from punchlist.views.run_state import OUTCOME_WORDS, STATE_WORDS, find_state
from punchlist.views.summary import summarize_run

ITEMS = 100
"""How many items of a pull request are shown; its run has all."""


class PullItem(Struct, frozen=True, kw_only=True):
    number: int
    severity: Severity
    title: str
    place: str
    status: Status
    why: str = ""
    """Why it is not fixed."""


class PullCosts(Struct, frozen=True):
    """How many runs a pull request had, and what they cost together."""

    runs: int
    dollars: float


class PullLine(Struct, frozen=True, kw_only=True):
    """A pull request: what its newest run says, and what all of them cost."""

    pull: str
    link: str
    """Its address if that is one of the web, else ""."""
    repository: str
    run: str
    head: str
    state: str
    headline: str
    costs: PullCosts
    items: tuple[PullItem, ...] = ()
    more: int = 0


class NoticeLine(Struct, frozen=True, kw_only=True):
    """A notice of a forge that is not answered, as surfaces show it."""

    pull: str
    repository: str
    age: float
    """Seconds since it came."""
    state: str
    why: str = ""
    over: bool = False


def make_pull_line(run: Run, repository: str, costs: PullCosts, *, driven: bool) -> PullLine:
    """Return the line of a pull request; `run` is the newest about it."""
    shown = sorted((item for item in run.items.values() if item.in_scope), key=reading_order)
    return PullLine(
        pull=run.started.pull,
        link=web_address(run.started.pull),
        repository=repository,
        run=run.id,
        head=run.started.change.head,
        state=_name_state(run, driven=driven),
        headline=summarize_run(run).headline if run.ended else "",
        costs=costs,
        items=tuple(map(_make_item, shown[:ITEMS])),
        more=max(0, len(shown) - ITEMS),
    )


def _name_state(run: Run, *, driven: bool) -> str:
    if run.ended:
        return OUTCOME_WORDS[RunOutcome(run_outcome(run))][0]
    return STATE_WORDS[find_state(run, driven=driven)]


def _make_item(item: Item) -> PullItem:
    spot = item.current.spot
    return PullItem(
        number=item.number,
        severity=item.severity,
        title=item.lead.title,
        place=f"{spot.path}:{spot.line}" if spot.line else spot.path,
        status=item.status,
        why=unfixed_reason(item) if item.status not in (Status.FIXED, Status.DISMISSED) else "",
    )
