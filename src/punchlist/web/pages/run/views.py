"""View models of a run's page: head, running actions, timeline, basis of the result."""

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from punchlist.app.drive.background import ActiveAction, AgentOutput
from punchlist.app.repositories import RepositoryEntry
from punchlist.model.checks.check import CheckVerdict
from punchlist.model.item.item import ENDED, Status
from punchlist.model.item.proof import ProofClass, strongest_proof
from punchlist.model.item.score import Score
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.timeline import Moment, pluralize
from punchlist.views.escaping import escape_controls
from punchlist.views.report_document import CheckPart, list_checks
from punchlist.views.run_state import RunResult, State, find_result
from punchlist.views.summary import Gap, Numbers, summarize_run
from punchlist.views.tables.paging import fit_page
from punchlist.views.words import describe_scope

MOMENTS = 30
"""Moments of the timeline on a page."""
_TAIL_LINES = 12
_TAIL = 4000
_SCORES = 100
_GAPS = 40


class StatusShare(Struct, frozen=True):
    status: Status
    count: int
    percent: float


class RunHead(Struct, frozen=True, kw_only=True):
    """What the head of the page shows beside the fields of the run itself."""

    repository: RepositoryEntry
    state: State
    outcome: str
    result: RunResult | None
    headline: str
    advice: str
    scope: str
    shares: tuple[StatusShare, ...]
    done: int
    numbers: Numbers
    gaps: tuple[Gap, ...]
    more_gaps: int
    broke: str
    """Why the driving ended without an event, if it did."""
    elsewhere: bool
    """Another process drives it."""


class RunningAction(Struct, frozen=True, kw_only=True):
    """A running action. `lines`: the last output of its agent; `said`: number of the last piece."""

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


class Timeline(Struct, frozen=True, kw_only=True):
    moments: tuple[Moment, ...]
    page: int
    pages: int


class CheckView(CheckPart, frozen=True, kw_only=True):
    """A check with its last verdict, over `fixes` batches. `complete`: all tests ran."""

    verdict: CheckVerdict | None
    fixes: int = 0
    complete: bool = True


class ResultBasis(Struct, frozen=True, kw_only=True):
    judges: tuple[CheckView, ...]
    proofs: tuple[tuple[ProofClass, int], ...]
    """Fixed items by the strongest proof each has."""
    scores: tuple[Score, ...]
    more_scores: int
    titles: dict[int, str]
    challenges: tuple[ev.Challenged, ...]
    threshold: int


def compute_shares(tally: dict[Status, int]) -> tuple[StatusShare, ...]:
    """Return the segments in the board's order, resolved statuses first."""
    total = sum(tally.values()) or 1
    order = sorted(Status, key=lambda status: status not in ENDED)
    return tuple(
        StatusShare(status, tally[status], round(100 * tally[status] / total, 2))
        for status in order
        if tally[status]
    )


def build_head(
    run: Run, repository: RepositoryEntry, state: State, *, elsewhere: bool = False, broke: str = ""
) -> RunHead:
    summary = summarize_run(run)
    numbers = summary.numbers
    # While the run goes on, what was not looked at may still be.
    gaps = summary.gaps if state is not State.UNDER_WAY else ()
    return RunHead(
        repository=repository,
        state=state,
        outcome=outcome_word(run),
        result=find_result(run),
        headline=summary.headline if run.ended else _interim_headline(run, summary.headline),
        advice=summary.advice if run.ended else "",
        scope=describe_scope(run.started.change),
        shares=compute_shares(summary.by_status),
        done=numbers.fixed + numbers.filed + numbers.dismissed,
        numbers=numbers,
        gaps=gaps[:_GAPS],
        more_gaps=max(0, len(gaps) - _GAPS),
        broke=broke,
        elsewhere=elsewhere,
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
    )


def _build_action(run: Run, begun: ActiveAction, talk: Sequence[AgentOutput]) -> RunningAction:
    number = begun.key.rpartition(" ")[2]
    batch = run.work.batches.get(int(number)) if number.isdecimal() else None
    output = _find_output(begun, talk)
    lines = [line for each in output for line in tail_text(each.text).splitlines()]
    return RunningAction(
        about=begun.about,
        at=begun.at,
        label=output[-1].label if output else "",
        items=batch.items if batch else (),
        files=batch.paths if batch else (),
        lines="\n".join(lines[-_TAIL_LINES:])[-_TAIL:],
        said=output[-1].number if output else 0,
    )


def tail_text(text: str) -> str:
    """Return the last 4000 characters, escaped: an agent may write megabytes."""
    return escape_controls(text[-_TAIL:])


def _find_output(begun: ActiveAction, talk: Sequence[AgentOutput]) -> list[AgentOutput]:
    """Return the output of the action's agent: its label begins with the place, and may end with
    the batch's number.
    """
    number = begun.key.rpartition(" ")[2]
    here = [each for each in talk if each.label.startswith(f"{begun.place} ")]
    exact = [each for each in here if each.label.endswith((f" {number}", f" {begun.key}"))]
    last = (exact or here)[-1:]
    return [each for each in here if last and each.label == last[0].label]


def build_timeline(run: Run, page: int) -> Timeline:
    total = len(run.timeline)
    page, pages = fit_page(page, total, MOMENTS)
    end = total - (page - 1) * MOMENTS
    moments = run.timeline[max(0, end - MOMENTS) : end]
    return Timeline(moments=tuple(reversed(moments)), page=page, pages=pages)


def build_basis(run: Run) -> ResultBasis:
    events = [past.event for past in run.history]
    judged = [event for event in events if isinstance(event, ev.Challenged)]
    scores = sorted(
        run.by_item.scores.values(),
        key=lambda each: (each.score if each.score is not None else -1, each.item),
    )
    shown = scores[:_SCORES]
    return ResultBasis(
        judges=tuple(_list_checks(run, events)),
        proofs=_count_proofs(run),
        scores=tuple(shown),
        more_scores=max(0, len(scores) - _SCORES),
        titles={
            each.item: run.items[each.item].lead.title for each in shown if each.item in run.items
        },
        challenges=tuple(judged),
        threshold=judged[-1].threshold if judged else 0,
    )


def _list_checks(run: Run, events: Iterable[ev.AnyEvent]) -> Iterable[CheckView]:
    last = {
        verdict.check: (verdict, event)
        for event in events
        if isinstance(event, ev.Tried)
        for verdict in event.verdicts
    }
    for part in list_checks(run):
        verdict, tried = last.get(part.check.name, (None, None))
        yield CheckView(
            **asdict(part),
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
