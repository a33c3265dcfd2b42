"""History of a run's rounds: reviews, and results of agents' attempts."""

from msgspec import Struct

from punchlist.model.ledger import events as ev

_OF_AN_ATTEMPT = (ev.Rechecked, ev.Examined, ev.Challenged, ev.Tried, ev.Verified, ev.Committed)


class PastEvent(Struct, frozen=True):
    """An event, its round, and the run's active seconds when it was written."""

    round: int
    ended: float
    event: ev.AnyEvent
    at: float = 0

    @property
    def began(self) -> float:
        return max(0.0, self.ended - self.event.usage.seconds)


def extend_history(history: tuple[PastEvent, ...], past: PastEvent) -> tuple[PastEvent, ...]:
    """Return the history with the event, if it is a review, an agent's attempt, or a judgement
    after one. Analyzers may report 100,000 findings: only their present round is kept.
    """
    event = past.event
    attempt = isinstance(event, ev.Attempted) and event.agent
    judged = isinstance(event, _OF_AN_ATTEMPT) and any(
        isinstance(each.event, ev.Attempted) for each in history
    )
    if not (isinstance(event, ev.Reviewed) or attempt or judged):
        return history
    kept = (e for e in history if e.round == past.round or not _is_analyzer_review(e.event))
    return (*kept, past)


def _is_analyzer_review(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.Reviewed) and not event.agent
