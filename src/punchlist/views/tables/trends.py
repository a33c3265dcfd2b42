"""A repository over time: what became of the items of each run, its cost, and refuted claims."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from punchlist.model.item.item import ENDED, Fact, Item, Status
from punchlist.model.ledger.run import Run, count_statuses
from punchlist.views.words import format_dollars

_JUDGED = (Fact.REJECTED, Fact.COMMITTED)
_NO_JUDGES = frozenset({"git", "pre-commit", "commit", "challenge", "punchlist"})
"""Rejections by these refute nothing: a conflict, a hook, a proof that is missing, a limit."""


class AgentClaims(Struct, frozen=True, kw_only=True):
    """How often an agent said that an item is fixed, and how often that was refuted."""

    agent: str
    claims: int
    refuted: int


class TrendPoint(Struct, frozen=True, kw_only=True):
    """One run: its items in scope, by what became of them, as of now."""

    run: str
    started_at: float
    workflow: str
    ended: bool
    unresolved: int
    """Open, claimed, deferred or blocked."""
    fixed: int
    filed: int
    dismissed: int
    dollars: float
    """What agents cost as far as they said so."""
    unpriced: bool
    """Agents worked whose cost is not known, or not all of it."""
    agents: tuple[AgentClaims, ...] = ()

    @property
    def items(self) -> int:
        return self.unresolved + self.fixed + self.filed + self.dismissed

    @property
    def refuted(self) -> int:
        return sum(each.refuted for each in self.agents)


class Trends(Struct, frozen=True, kw_only=True):
    """The latest runs of a repository, oldest first; `agents` are of these runs together."""

    runs: tuple[TrendPoint, ...]
    agents: tuple[AgentClaims, ...]
    earlier: int
    """Runs before the first of these."""


def make_point(run: Run) -> TrendPoint:
    tally, usage = count_statuses(run.items), run.usage
    return TrendPoint(
        run=run.id,
        started_at=run.started_at,
        workflow=run.started.workflow_name,
        ended=bool(run.ended),
        unresolved=sum(count for status, count in tally.items() if status not in ENDED),
        fixed=tally[Status.FIXED],
        filed=tally[Status.FILED],
        dismissed=tally[Status.DISMISSED],
        dollars=round(usage.dollars, 6),
        unpriced=usage.agents_worked and bool(usage.unpriced or usage.cut or not usage.dollars),
        agents=_count_claims(run),
    )


def build_trends(points: Sequence[TrendPoint], earlier: int) -> Trends:
    """`points` are in the order of their runs, newest first."""
    claims = (each for point in points for each in point.agents)
    return Trends(runs=tuple(reversed(points)), agents=_add_claims(claims), earlier=earlier)


def _count_claims(run: Run) -> tuple[AgentClaims, ...]:
    crew = {agent for agents in run.started.crew.values() for agent in agents}
    return _add_claims(
        claim for item in run.items.values() for claim in _list_claims(item) if claim.agent in crew
    )


def _list_claims(item: Item) -> Iterator[AgentClaims]:
    """Yield each claim of a fix, and whether checks, examination or a challenger refuted it."""
    claimed = ""
    for attempt in item.attempts:
        if attempt.fact is Fact.SAID_FIXED:
            claimed = attempt.by
            yield AgentClaims(agent=claimed, claims=1, refuted=0)
        elif claimed and attempt.fact in _JUDGED:
            refuted = attempt.fact is Fact.REJECTED and attempt.by not in _NO_JUDGES
            yield AgentClaims(agent=claimed, claims=0, refuted=int(refuted))
            claimed = ""


def _add_claims(claims: Iterable[AgentClaims]) -> tuple[AgentClaims, ...]:
    """Return the sums by agent, in the order of their names."""
    sums: dict[str, tuple[int, int]] = {}
    for each in claims:
        known, refuted = sums.get(each.agent, (0, 0))
        sums[each.agent] = (known + each.claims, refuted + each.refuted)
    return tuple(
        AgentClaims(agent=agent, claims=count, refuted=refuted)
        for agent, (count, refuted) in sorted(sums.items())
    )


def describe_cost(point: TrendPoint) -> str:
    """Return what agents cost in a run; what is not known is called unknown."""
    if point.unpriced:
        return f"at least {format_dollars(point.dollars)}" if point.dollars else "unknown"
    return format_dollars(point.dollars) if point.dollars else "-"
