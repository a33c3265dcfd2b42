"""Attempts of agents at one item, with the verdicts on each; pure."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.model.checks.check import CheckVerdict
from punchlist.model.item.claim import ClaimOutcome, ItemClaim
from punchlist.model.item.score import Score
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.round_history import PastEvent
from punchlist.model.ledger.run import Run
from punchlist.views.html_view import Code, diff_lines
from punchlist.views.item_words import describe_proof


class CheckTrial(Struct, frozen=True, kw_only=True):
    command: str
    verdict: CheckVerdict
    complete: bool
    together: int
    """How many patches were in the tree."""


class ChallengeScore(Struct, frozen=True, kw_only=True):
    """A challenger's score; it has no number if the answer was not usable."""

    event: ev.Challenged
    score: Score
    approved: bool
    parts: tuple[tuple[str, int], ...]


class AttemptView(Struct, frozen=True, kw_only=True):
    round: int
    event: ev.Attempted
    outcome: ClaimOutcome | None
    why: str
    failed: str
    noted: tuple[str, ...]
    code: tuple[Code, ...]
    refuted: str
    seen: tuple[str, ...]
    """What the examination saw, in words."""
    trials: tuple[CheckTrial, ...]
    judged: ChallengeScore | None
    landed: bool


def list_attempts(run: Run, number: int) -> tuple[AttemptView, ...]:
    """Return the agents' attempts in order; fixes of analyzers are not among them."""
    return tuple(
        _build_attempt(run, number, event, after) for event, after in _find_attempts(run, number)
    )


def _find_attempts(run: Run, number: int) -> Iterator[tuple[ev.Attempted, tuple[PastEvent, ...]]]:
    """Yield each attempt with the events of its round from itself on."""
    for place, past in enumerate(run.history):
        event = past.event
        if isinstance(event, ev.Attempted) and (
            _find_report(event, number) or _find_batch(event, number) is not None
        ):
            yield event, tuple(each for each in run.history[place:] if each.round == past.round)


def _build_attempt(
    run: Run, number: int, event: ev.Attempted, pasts: Sequence[PastEvent]
) -> AttemptView:
    claim, batch = _find_report(event, number), _find_batch(event, number)
    after = [past.event for past in pasts]
    judged_as = _resolve_batch(batch, after)
    examined = next(
        (each for each in after if isinstance(each, ev.Examined) and each.batch == judged_as), None
    )
    return AttemptView(
        round=pasts[0].round,
        event=event,
        outcome=claim.outcome if claim else None,
        why=claim.why if claim else "",
        failed=event.failed or (event.refused.get(batch, "") if batch is not None else ""),
        noted=event.noted.get(batch, ()) if batch is not None else (),
        code=tuple(
            Code(hunk.path, tuple(diff_lines(hunk)), hunk.cut)
            for hunk in event.hunks.get(batch or 0, ())
        ),
        refuted=examined.refuted if examined else "",
        seen=_describe_proofs(examined, number) if examined else (),
        trials=tuple(_list_trials(run, judged_as, after)),
        judged=next(_list_scores(number, after), None),
        landed=any(
            isinstance(each, ev.Committed) and any(one.batch == judged_as for one in each.landed)
            for each in after
        ),
    )


def _find_report(event: ev.Attempted, number: int) -> ItemClaim | None:
    return next((report for report in event.reports if report.item == number), None)


def _find_batch(event: ev.Attempted, number: int) -> int | None:
    return next((batch.number for batch in event.batches if number in batch.items), None)


def _resolve_batch(batch: int | None, after: Sequence[ev.AnyEvent]) -> int | None:
    """Return the batch that absorbed this one, or itself."""
    for event in after:
        if batch is not None and isinstance(event, ev.Attempted):
            batch = event.absorbed.get(batch, batch)
    return batch


def _describe_proofs(examined: ev.Examined, number: int) -> tuple[str, ...]:
    return (*(describe_proof(proof) for proof in examined.proofs.get(number, ())), *examined.noted)


def _list_trials(run: Run, batch: int | None, after: Sequence[ev.AnyEvent]) -> Iterator[CheckTrial]:
    commands = {check.name: " ".join(check.command) for check in run.started.checks}
    for event in after:
        if isinstance(event, ev.Tried) and batch in event.batches:
            for verdict in event.verdicts:
                yield CheckTrial(
                    command=commands.get(verdict.check, ""),
                    verdict=verdict,
                    complete=event.complete,
                    together=len(event.batches),
                )


def _list_scores(number: int, after: Sequence[ev.AnyEvent]) -> Iterator[ChallengeScore]:
    for event in after:
        if isinstance(event, ev.Challenged):
            for score in event.scores:
                if score.item == number:
                    yield _build_score(event, score)


def _build_score(event: ev.Challenged, score: Score) -> ChallengeScore:
    parts = {"correctness": score.correctness, "safety": score.safety, "style": score.style}
    return ChallengeScore(
        event=event,
        score=score,
        approved=score.approves(event.threshold),
        parts=tuple((name, value) for name, value in parts.items() if value is not None),
    )
