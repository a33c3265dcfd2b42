"""What a run remembers of its earlier rounds: who reported what, and what came of each attempt of
an agent.
"""

from msgspec import Struct

from punchlist.model.ledger import events as ev

_OF_AN_ATTEMPT = (ev.Rechecked, ev.Examined, ev.Challenged, ev.Tried, ev.Verified, ev.Committed)


class Past(Struct, frozen=True):
    """An event, the round it belongs to, and how long the run had been driven when
    it was written.
    """

    round: int
    ended: float
    event: ev.AnyEvent
    at: float = 0

    @property
    def began(self) -> float:
        return max(0.0, self.ended - self.event.usage.seconds)


def remembered(history: tuple[Past, ...], past: Past) -> tuple[Past, ...]:
    """With one more event, if it is of those that are told by round; judgements count from an
    agent's first attempt on.

    Of analyzers only the present round is kept: they may report a hundred thousand findings each
    time.
    """
    event = past.event
    attempt = isinstance(event, ev.Attempted) and event.agent
    judged = isinstance(event, _OF_AN_ATTEMPT) and any(
        isinstance(each.event, ev.Attempted) for each in history
    )
    if not (isinstance(event, ev.Reviewed) or attempt or judged):
        return history
    return (
        *(each for each in history if each.round == past.round or not _by_tool(each.event)),
        past,
    )


def _by_tool(event: ev.AnyEvent) -> bool:
    return isinstance(event, ev.Reviewed) and not event.agent
