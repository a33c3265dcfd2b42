"""What the page of a run shows, worked out from the fold: how it stands, what happens now, what
happened, what it rests on.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.app.drive.background import Begun, Said
from punchlist.app.repositories import Registered
from punchlist.model.checks.check import Check, Verdict
from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.proof import ProofClass, strongest
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Review, Round, Run
from punchlist.model.ledger.timeline import Moment, amount
from punchlist.views.escaping import visible
from punchlist.views.run_state import State
from punchlist.views.summary import Gap, Numbers, summary
from punchlist.views.wording import scope
from punchlist.web.pages.run.board import ORDER

MOMENTS = 30
"""Moments of the story at a time."""
_TAIL_LINES = 12
_TAIL = 4000
_SCORES = 100
_GAPS = 40


class Share(Struct, frozen=True):
    """One piece of the progress bar."""

    status: Status
    count: int
    percent: float


class Head(Struct, frozen=True, kw_only=True):
    """How a run stands."""

    id: str
    repository: Registered
    state: State
    outcome: str
    headline: str
    advice: str
    workflow: str
    scope: str
    branch: str
    round: int
    started_at: float
    last_at: float
    seconds: float
    usage: Usage
    shares: tuple[Share, ...]
    done: int
    numbers: Numbers
    gaps: tuple[Gap, ...]
    more_gaps: int
    halted: str
    broke: str
    """Why the driving ended without an event, if it did."""
    elsewhere: bool
    """Another process drives it."""
    landed: int


class Doing(Struct, frozen=True, kw_only=True):
    """An action under way. `lines` are the last that its agent said, `said` the number of the last
    piece.
    """

    place: str
    key: str
    about: str
    at: float
    label: str
    items: tuple[int, ...]
    files: tuple[str, ...]
    lines: str
    said: int


class Flight(Struct, frozen=True, kw_only=True):
    doing: tuple[Doing, ...]
    elsewhere: bool
    running: bool
    waiting: int
    """Items of the plan that come next round."""


class Timeline(Struct, frozen=True, kw_only=True):
    moments: tuple[Moment, ...]
    page: int
    pages: int
    total: int


class Judge(Struct, frozen=True, kw_only=True):
    """One check: what it said of the base, and what it said last, of so many fixes. `complete`: all
    of its tests ran.
    """

    check: Check
    allowed: bool
    baseline: ev.Baselined | None
    verdict: Verdict | None
    fixes: int = 0
    complete: bool = True


class Ground(Struct, frozen=True, kw_only=True):
    """What the result rests on."""

    reviews: tuple[Review, ...]
    judges: tuple[Judge, ...]
    unverified: str
    proofs: tuple[tuple[ProofClass, int], ...]
    """Fixed items by the strongest proof each has."""
    scores: tuple[Score, ...]
    more_scores: int
    titles: dict[int, str]
    challenges: tuple[ev.Challenged, ...]
    threshold: int
    rounds: tuple[Round, ...]
    usage: Usage


def shares(tally: dict[Status, int]) -> tuple[Share, ...]:
    """In the order of the board; what is done comes first, as a bar fills from its left."""
    total = sum(tally.values()) or 1
    order = sorted(ORDER, key=lambda status: (status not in ENDED, ORDER.index(status)))
    return tuple(
        Share(status, tally[status], round(100 * tally[status] / total, 2))
        for status in order
        if tally[status]
    )


def head(
    run: Run, repository: Registered, state: State, *, elsewhere: bool = False, broke: str = ""
) -> Head:
    told = summary(run)
    started = run.started
    gaps = (
        told.gaps if state is not State.UNDER_WAY else ()
    )  # while it goes on, what was not looked at may still be
    return Head(
        id=run.id,
        repository=repository,
        state=state,
        outcome=ended_as(run),
        headline=told.headline if run.ended else _so_far(run, told.headline),
        advice=told.advice if run.ended else "",
        workflow=started.workflow_name,
        scope=scope(started.change),
        branch=run.landing.branch,
        round=run.position.round,
        started_at=run.started_at,
        last_at=run.last_at,
        seconds=run.active,
        usage=run.usage,
        shares=shares(told.by_status),
        done=told.numbers.fixed + told.numbers.filed + told.numbers.dismissed,
        numbers=told.numbers,
        gaps=gaps[:_GAPS],
        more_gaps=max(0, len(gaps) - _GAPS),
        halted=run.halted,
        broke=broke,
        elsewhere=elsewhere,
        landed=len(run.landing.landed),
    )


def ended_as(run: Run) -> str:
    """How it ended, in one word."""
    return outcome(run).value if run.ended else ""


def _so_far(run: Run, headline: str) -> str:
    """What all items of a run have become is not its last word before it has ended."""
    if run.in_scope:
        return f"So far: {headline[:1].lower()}{headline[1:]}"
    if run.reviewing.fresh:
        return f"{amount(len(run.reviewing.fresh), 'finding')} reported so far."
    return "Nothing is reported here yet." if run.items else "Nothing is reported yet."


def flight(run: Run, begun: Sequence[Begun], talk: Sequence[Said], *, driven: bool) -> Flight:
    """Only the process that drives a run knows what it is doing at this moment."""
    return Flight(
        doing=tuple(_doing(run, each, talk) for each in begun),
        elsewhere=driven and not begun,
        running=driven,
        waiting=run.work.waiting,
    )


def _doing(run: Run, begun: Begun, talk: Sequence[Said]) -> Doing:
    number = begun.key.rpartition(" ")[2]
    batch = run.work.batches.get(int(number)) if number.isdecimal() else None
    heard = _heard(begun, talk)
    return Doing(
        place=begun.place,
        key=begun.key,
        about=begun.about,
        at=begun.at,
        label=heard[-1].label if heard else "",
        items=batch.items if batch else (),
        files=batch.paths if batch else (),
        lines="\n".join(
            [line for said in heard for line in last_words(said.text).splitlines()][-_TAIL_LINES:]
        )[-_TAIL:],
        said=heard[-1].number if heard else 0,
    )


def last_words(text: str) -> str:
    """The end of a piece: an agent may say megabytes, and nobody reads them as they go by."""
    return visible(text[-_TAIL:])


def _heard(begun: Begun, talk: Sequence[Said]) -> list[Said]:
    """What its agent said: a call is labelled with the place, and with its batch's number if it has
    one.
    """
    number = begun.key.rpartition(" ")[2]
    here = [said for said in talk if said.label.startswith(f"{begun.place} ")]
    exact = [said for said in here if said.label.endswith((f" {number}", f" {begun.key}"))]
    last = (exact or here)[-1:]
    return [said for said in here if last and said.label == last[0].label]


def timeline(run: Run, page: int) -> Timeline:
    """Newest first; the last page has the beginning."""
    pages = max(1, -(-len(run.timeline) // MOMENTS))
    page = min(max(1, page), pages)
    end = len(run.timeline) - (page - 1) * MOMENTS
    moments = run.timeline[max(0, end - MOMENTS) : end]
    return Timeline(
        moments=tuple(reversed(moments)), page=page, pages=pages, total=len(run.timeline)
    )


def ground(run: Run) -> Ground:
    events = [past.event for past in run.history]
    judged = [event for event in events if isinstance(event, ev.Challenged)]
    scores = sorted(
        run.by_item.scores.values(),
        key=lambda each: (each.score if each.score is not None else -1, each.item),
    )
    return Ground(
        reviews=tuple(run.reviewing.reviews.values()),
        judges=tuple(_judges(run, events)),
        unverified=run.checks.unverified,
        proofs=_proofs(run),
        scores=tuple(scores[:_SCORES]),
        more_scores=max(0, len(scores) - _SCORES),
        titles={
            each.item: run.items[each.item].lead.title
            for each in scores[:_SCORES]
            if each.item in run.items
        },
        challenges=tuple(judged),
        threshold=judged[-1].threshold if judged else 0,
        rounds=run.position.rounds,
        usage=run.usage,
    )


def _judges(run: Run, events: Iterable[ev.AnyEvent]) -> Iterable[Judge]:
    last = {
        verdict.check: (verdict, event)
        for event in events
        if isinstance(event, ev.Tried)
        for verdict in event.verdicts
    }
    started = run.started
    for check in started.checks:
        verdict, tried = last.get(check.name, (None, None))
        yield Judge(
            check=check,
            allowed=started.checks_allowed,
            baseline=run.checks.baselines.get(check.name),
            verdict=verdict,
            fixes=len(tried.batches) if tried else 0,
            complete=tried.complete if tried else True,
        )


def _proofs(run: Run) -> tuple[tuple[ProofClass, int], ...]:
    best = (strongest(item.proofs) for item in run.items.values() if item.status is Status.FIXED)
    tally = Counter(proof.kind for proof in best if proof is not None)
    return tuple((kind, tally[kind]) for kind in reversed(ProofClass) if tally[kind])
