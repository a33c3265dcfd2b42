"""View models of a run's page: head, running actions, timeline, basis of the result."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from punchlist.app.drive.background import ActiveAction, AgentOutput
from punchlist.app.repositories import RepositoryEntry
from punchlist.model.checks.check import Check, CheckVerdict
from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.proof import ProofClass, strongest_proof
from punchlist.model.item.score import Score
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import LatestReview, Round, Run
from punchlist.model.ledger.timeline import Moment, pluralize
from punchlist.views.escaping import escape_controls
from punchlist.views.run_state import State
from punchlist.views.summary import Gap, Numbers, summarize_run
from punchlist.views.wording import describe_scope
from punchlist.web.pages.run.board import ORDER

MOMENTS = 30
"""Moments of the story at a time."""
_TAIL_LINES = 12
_TAIL = 4000
_SCORES = 100
_GAPS = 40


class StatusShare(Struct, frozen=True):
    status: Status
    count: int
    percent: float


class RunHead(Struct, frozen=True, kw_only=True):
    id: str
    repository: RepositoryEntry
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
    shares: tuple[StatusShare, ...]
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


class RunningAction(Struct, frozen=True, kw_only=True):
    """A running action. `lines`: the last output of its agent; `said`: number of the last piece."""

    place: str
    key: str
    about: str
    at: float
    label: str
    items: tuple[int, ...]
    files: tuple[str, ...]
    lines: str
    said: int


class Activity(Struct, frozen=True, kw_only=True):
    doing: tuple[RunningAction, ...]
    elsewhere: bool
    running: bool
    waiting: int
    """Items of the plan that come next round."""


class Timeline(Struct, frozen=True, kw_only=True):
    moments: tuple[Moment, ...]
    page: int
    pages: int
    total: int


class CheckView(Struct, frozen=True, kw_only=True):
    """One check: its baseline and its last verdict, over `fixes` batches. `complete`: all tests
    ran.
    """

    check: Check
    allowed: bool
    baseline: ev.Baselined | None
    verdict: CheckVerdict | None
    fixes: int = 0
    complete: bool = True


class ResultBasis(Struct, frozen=True, kw_only=True):
    reviews: tuple[LatestReview, ...]
    judges: tuple[CheckView, ...]
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


def compute_shares(tally: dict[Status, int]) -> tuple[StatusShare, ...]:
    """Return the segments in the board's order, resolved statuses first."""
    total = sum(tally.values()) or 1
    order = sorted(ORDER, key=lambda status: (status not in ENDED, ORDER.index(status)))
    return tuple(
        StatusShare(status, tally[status], round(100 * tally[status] / total, 2))
        for status in order
        if tally[status]
    )


def build_head(
    run: Run, repository: RepositoryEntry, state: State, *, elsewhere: bool = False, broke: str = ""
) -> RunHead:
    told = summarize_run(run)
    started = run.started
    gaps = (
        told.gaps if state is not State.UNDER_WAY else ()
    )  # while it goes on, what was not looked at may still be
    return RunHead(
        id=run.id,
        repository=repository,
        state=state,
        outcome=outcome_word(run),
        headline=told.headline if run.ended else _interim_headline(run, told.headline),
        advice=told.advice if run.ended else "",
        workflow=started.workflow_name,
        scope=describe_scope(started.change),
        branch=run.landing.branch,
        round=run.position.round,
        started_at=run.started_at,
        last_at=run.last_at,
        seconds=run.active,
        usage=run.usage,
        shares=compute_shares(told.by_status),
        done=told.numbers.fixed + told.numbers.filed + told.numbers.dismissed,
        numbers=told.numbers,
        gaps=gaps[:_GAPS],
        more_gaps=max(0, len(gaps) - _GAPS),
        halted=run.halted,
        broke=broke,
        elsewhere=elsewhere,
        landed=len(run.landing.landed),
    )


def outcome_word(run: Run) -> str:
    """Return the result in one word; empty if the run has not ended."""
    return run_outcome(run).value if run.ended else ""


def _interim_headline(run: Run, headline: str) -> str:
    """Return the headline of a run that has not ended."""
    if run.in_scope:
        return f"So far: {headline[:1].lower()}{headline[1:]}"
    if run.reviewing.fresh:
        return f"{pluralize(len(run.reviewing.fresh), 'finding')} reported so far."
    return "Nothing is reported here yet." if run.items else "Nothing is reported yet."


def build_activity(
    run: Run, begun: Sequence[ActiveAction], talk: Sequence[AgentOutput], *, driven: bool
) -> Activity:
    """Return the running actions; only the process that drives the run knows them."""
    return Activity(
        doing=tuple(_build_action(run, each, talk) for each in begun),
        elsewhere=driven and not begun,
        running=driven,
        waiting=run.work.waiting,
    )


def _build_action(run: Run, begun: ActiveAction, talk: Sequence[AgentOutput]) -> RunningAction:
    number = begun.key.rpartition(" ")[2]
    batch = run.work.batches.get(int(number)) if number.isdecimal() else None
    heard = _find_output(begun, talk)
    return RunningAction(
        place=begun.place,
        key=begun.key,
        about=begun.about,
        at=begun.at,
        label=heard[-1].label if heard else "",
        items=batch.items if batch else (),
        files=batch.paths if batch else (),
        lines="\n".join(
            [line for said in heard for line in tail_text(said.text).splitlines()][-_TAIL_LINES:]
        )[-_TAIL:],
        said=heard[-1].number if heard else 0,
    )


def tail_text(text: str) -> str:
    """Return the last 4000 characters, escaped: an agent may write megabytes."""
    return escape_controls(text[-_TAIL:])


def _find_output(begun: ActiveAction, talk: Sequence[AgentOutput]) -> list[AgentOutput]:
    """Return the output of the action's agent: its label starts with the place and may end with the
    batch's number.
    """
    number = begun.key.rpartition(" ")[2]
    here = [said for said in talk if said.label.startswith(f"{begun.place} ")]
    exact = [said for said in here if said.label.endswith((f" {number}", f" {begun.key}"))]
    last = (exact or here)[-1:]
    return [said for said in here if last and said.label == last[0].label]


def build_timeline(run: Run, page: int) -> Timeline:
    pages = max(1, -(-len(run.timeline) // MOMENTS))
    page = min(max(1, page), pages)
    end = len(run.timeline) - (page - 1) * MOMENTS
    moments = run.timeline[max(0, end - MOMENTS) : end]
    return Timeline(
        moments=tuple(reversed(moments)), page=page, pages=pages, total=len(run.timeline)
    )


def build_basis(run: Run) -> ResultBasis:
    events = [past.event for past in run.history]
    judged = [event for event in events if isinstance(event, ev.Challenged)]
    scores = sorted(
        run.by_item.scores.values(),
        key=lambda each: (each.score if each.score is not None else -1, each.item),
    )
    return ResultBasis(
        reviews=tuple(run.reviewing.reviews.values()),
        judges=tuple(_list_checks(run, events)),
        unverified=run.checks.unverified,
        proofs=_count_proofs(run),
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


def _list_checks(run: Run, events: Iterable[ev.AnyEvent]) -> Iterable[CheckView]:
    last = {
        verdict.check: (verdict, event)
        for event in events
        if isinstance(event, ev.Tried)
        for verdict in event.verdicts
    }
    started = run.started
    for check in started.checks:
        verdict, tried = last.get(check.name, (None, None))
        yield CheckView(
            check=check,
            allowed=started.checks_allowed,
            baseline=run.checks.baselines.get(check.name),
            verdict=verdict,
            fixes=len(tried.batches) if tried else 0,
            complete=tried.complete if tried else True,
        )


def _count_proofs(run: Run) -> tuple[tuple[ProofClass, int], ...]:
    best = (
        strongest_proof(item.proofs) for item in run.items.values() if item.status is Status.FIXED
    )
    tally = Counter(proof.kind for proof in best if proof is not None)
    return tuple((kind, tally[kind]) for kind in reversed(ProofClass) if tally[kind])
