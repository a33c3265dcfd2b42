"""What agents tried for one item, and what the judges made of each try: pure views over a run's
memory.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from punchlist.model.item.claim import Outcome, Report
from punchlist.model.item.score import Score
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.round_history import Past
from punchlist.model.ledger.run import Run
from punchlist.views.html_view import Code, diff_lines
from punchlist.views.item_words import describe_proof


class Trial(Struct, frozen=True, kw_only=True):
    """One run of a check over the item's patch, alone or with others. `command` is what was
    started.
    """

    check: str
    command: str
    passed: bool
    why: str
    evidence: str
    seconds: float
    complete: bool
    together: int
    """How many patches were in the tree."""


class Judged(Struct, frozen=True, kw_only=True):
    """A challenger's word. `score` None: nothing usable was said."""

    agent: str
    score: int | None
    threshold: int
    approved: bool
    word: str
    feedback: str
    improvements: tuple[str, ...]
    parts: tuple[tuple[str, int], ...]
    canaries: str
    transcript: str


class Effort(Struct, frozen=True, kw_only=True):
    """One attempt of an agent: its claim, the change, and what was held against it or for it."""

    round: int
    agent: str
    outcome: Outcome | None
    why: str
    failed: str
    noted: tuple[str, ...]
    transcript: str
    code: tuple[Code, ...]
    refuted: str
    seen: tuple[str, ...]
    """What the examination saw, in words."""
    trials: tuple[Trial, ...]
    judged: Judged | None
    landed: bool


def efforts(run: Run, number: int) -> tuple[Effort, ...]:
    """In the order in which they were made. Tools' own fixes are not among them: these have one
    try, and the history tells it.
    """
    return tuple(_effort(run, number, event, after) for event, after in _attempts(run, number))


def _attempts(run: Run, number: int) -> Iterator[tuple[ev.Attempted, tuple[Past, ...]]]:
    """Each attempt, and what came after it in the same round, itself first."""
    for place, past in enumerate(run.history):
        event = past.event
        if isinstance(event, ev.Attempted) and (
            _report(event, number) or _batch(event, number) is not None
        ):
            yield event, tuple(each for each in run.history[place:] if each.round == past.round)


def _effort(run: Run, number: int, event: ev.Attempted, pasts: Sequence[Past]) -> Effort:
    said, batch = _report(event, number), _batch(event, number)
    after = [past.event for past in pasts]
    judged_as = _judged_as(batch, after)
    examined = next(
        (each for each in after if isinstance(each, ev.Examined) and each.batch == judged_as), None
    )
    return Effort(
        round=pasts[0].round,
        agent=event.agent,
        outcome=said.outcome if said else None,
        why=said.why if said else "",
        failed=event.failed or (event.refused.get(batch, "") if batch is not None else ""),
        noted=event.noted.get(batch, ()) if batch is not None else (),
        transcript=event.transcript,
        code=tuple(
            Code(hunk.path, tuple(diff_lines(hunk)), hunk.cut)
            for hunk in event.hunks.get(batch or 0, ())
        ),
        refuted=examined.refuted if examined else "",
        seen=_seen(examined, number) if examined else (),
        trials=tuple(_trials(run, judged_as, after)),
        judged=next(_judgements(number, after), None),
        landed=any(
            isinstance(each, ev.Committed) and any(one.batch == judged_as for one in each.landed)
            for each in after
        ),
    )


def _report(event: ev.Attempted, number: int) -> Report | None:
    return next((report for report in event.reports if report.item == number), None)


def _batch(event: ev.Attempted, number: int) -> int | None:
    return next((batch.number for batch in event.batches if number in batch.items), None)


def _judged_as(batch: int | None, after: Sequence[ev.AnyEvent]) -> int | None:
    """A batch that another has built over is judged, and lands, as part of that one."""
    for event in after:
        if batch is not None and isinstance(event, ev.Attempted):
            batch = event.absorbed.get(batch, batch)
    return batch


def _seen(examined: ev.Examined, number: int) -> tuple[str, ...]:
    return (*(describe_proof(proof) for proof in examined.proofs.get(number, ())), *examined.noted)


def _trials(run: Run, batch: int | None, after: Sequence[ev.AnyEvent]) -> Iterator[Trial]:
    commands = {check.name: " ".join(check.command) for check in run.started.checks}
    for event in after:
        if isinstance(event, ev.Tried) and batch in event.batches:
            for verdict in event.verdicts:
                yield Trial(
                    check=verdict.check,
                    command=commands.get(verdict.check, ""),
                    passed=verdict.passed,
                    why=verdict.why,
                    evidence=verdict.evidence,
                    seconds=verdict.seconds,
                    complete=event.complete,
                    together=len(event.batches),
                )


def _judgements(number: int, after: Sequence[ev.AnyEvent]) -> Iterator[Judged]:
    for event in after:
        if isinstance(event, ev.Challenged):
            for score in event.scores:
                if score.item == number:
                    yield _judged(event, score)


def _judged(event: ev.Challenged, score: Score) -> Judged:
    parts = {"correctness": score.correctness, "safety": score.safety, "style": score.style}
    return Judged(
        agent=event.agent,
        score=score.score,
        threshold=event.threshold,
        approved=score.approves(event.threshold),
        word=score.status,
        feedback=score.feedback,
        improvements=score.improvements,
        parts=tuple((name, value) for name, value in parts.items() if value is not None),
        canaries=event.canaries,
        transcript=event.transcript,
    )
