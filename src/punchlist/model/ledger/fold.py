"""A run is the fold of its ledger: this is the only place where events become state."""

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import assert_never

from msgspec.structs import replace

from punchlist.errors import UsageError
from punchlist.model.item.batch import Batch
from punchlist.model.item.doubt import Doubt
from punchlist.model.item.item import ACTIONABLE, Fact, Item, Move, Status
from punchlist.model.item.score import by_item
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only_map import Growing
from punchlist.model.ledger.round_history import Past, remembered
from punchlist.model.ledger.run import Question, Review, Round, Run, Work
from punchlist.model.ledger.timeline import moment
from punchlist.model.patch.hunk import Diff


def fold(run: Run, entry: ev.Entry) -> Run:
    """The run after one more line of its ledger."""
    event = entry.event
    run = _placed(run, entry)
    run = replace(
        run,
        seq=entry.seq,
        last_at=entry.at,
        active=run.active + _driven(run, entry),
        started_at=run.started_at or entry.at,
        usage=run.usage + event.usage,
        items=_moved(run.items, event.moves, run.round),
    )
    run = replace(
        run, history=remembered(run.history, Past(run.round, run.active, event, entry.at))
    )
    now = moment(entry, run.active, run.round)
    return _told(replace(run, timeline=(*run.timeline, now)) if now else run, entry, event)


def _driven(run: Run, entry: ev.Entry) -> float:
    """Seconds since the last entry, unless a person or nobody was at it meanwhile."""
    idle = (
        isinstance(entry.event, ev.Resumed | ev.Answered) or entry.place == "people" or not run.seq
    )
    return 0 if idle else max(0, entry.at - run.last_at)


def begin(run_id: str, entries: Iterator[ev.Entry]) -> Run:
    """Take the first entry and return the run it starts; raise UsageError if it starts none."""
    first = next(entries, None)
    if first is None or not isinstance(first.event, ev.Started):
        raise UsageError(
            f"run {run_id} has no beginning", hint="start a new one with `punchlist run`"
        )
    return fold(Run(id=run_id, started=first.event), first)


def folded(run_id: str, entries: Iterable[ev.Entry]) -> Run:
    lines = iter(entries)
    return reduce(fold, lines, begin(run_id, lines))


_ASIDE = frozenset({"signal", "limit", "people"})
"""Places of entries that come from outside of the workflow: the step that is under way keeps what
it has.
"""
_NO_ACTION = (ev.Started, ev.StepDone, ev.RoundEnded, ev.Ended)
"""What the engine itself tells. A step must not take it for an action of its own, whatever that one
is called.
"""


def _placed(run: Run, entry: ev.Entry) -> Run:
    if entry.place in _ASIDE:
        return run
    if isinstance(entry.event, _NO_ACTION):
        return replace(run, place=entry.place, here=Growing())
    here = run.here if entry.place == run.place else Growing[str, ev.AnyEvent]()
    if isinstance(
        entry.event, ev.Asked | ev.Answered
    ):  # a step that asks a person keeps what it has done
        return replace(run, place=entry.place, here=here)
    return replace(run, place=entry.place, here=here.grown(entry.key, entry.event))


def _moved(items: dict[int, Item], moves: Iterable[Move], round_: int) -> dict[int, Item]:
    moves = tuple(moves)
    if not moves:
        return items
    after = dict(items)
    for move in moves:
        if move.item in after:
            after[move.item] = after[move.item].moved(move, round_)
    return after


_OfWork = (
    ev.Reviewed | ev.Clarified | ev.Reproduced | ev.Consolidated | ev.Planned | ev.Attempted
    | ev.Baselined | ev.Rechecked | ev.Examined | ev.Challenged | ev.Tried | ev.Verified
    | ev.Committed | ev.Published | ev.Filed | ev.Reported
)  # fmt: skip
"""What is done about findings; all else is about how the run goes on."""
_OfCourse = (
    ev.Started | ev.Failed | ev.StepDone | ev.RoundEnded | ev.Asked | ev.Answered
    | ev.Halted | ev.Returned | ev.Interrupted | ev.Resumed | ev.Ended | ev.Dismissed
)  # fmt: skip


def _told(run: Run, entry: ev.Entry, event: ev.AnyEvent) -> Run:
    return _worked(run, event) if isinstance(event, _OfWork) else _steered(run, entry, event)


def _worked(run: Run, event: _OfWork) -> Run:  # noqa: C901, PLR0911, PLR0912 - one arm per event: the table of what each means
    match event:
        case ev.Reviewed():
            return _reviewed(run, event)
        case ev.Clarified():
            doubts = run.doubts | {doubt.id: doubt for doubt in event.doubts}
            return replace(
                run, doubts=doubts, clear=event.ready, sessions=_planning(run, event.session)
            )
        case ev.Reproduced():
            return replace(run, reproductions={**run.reproductions, event.item: event})
        case ev.Examined():
            return replace(
                run, work=replace(run.work, examined={**run.work.examined, event.batch: event})
            )
        case ev.Challenged():
            work = replace(run.work, challenged=event, contested={})
            return replace(run, work=work, scores=run.scores | by_item(event.scores))
        case ev.Consolidated():
            return _consolidated(run, event)
        case ev.Planned():
            return _planned(run, event)
        case ev.Attempted():
            return _attempted(run, event)
        case ev.Baselined():
            return replace(run, baselines={**run.baselines, event.check: event})
        case ev.Rechecked():
            return replace(run, work=replace(run.work, rechecked=event))
        case ev.Tried():
            return replace(
                run, flaky=run.flaky.union(*(verdict.flaky for verdict in event.verdicts))
            )
        case ev.Verified():
            return replace(run, work=replace(run.work, verified=event), unverified=event.unverified)
        case ev.Committed():
            return _committed(run, event)
        case ev.Published():
            return replace(
                run,
                published=run.published if event.failed else event.tip,
                unpublished=event.failed,
            )
        case ev.Filed():
            filed = {move.item for move in event.moves}
            unfiled = {
                n: why for n, why in {**run.unfiled, **event.failed}.items() if n not in filed
            }
            return replace(run, unfiled=unfiled, owed={**run.owed, **event.owed})
        case ev.Reported():
            return replace(
                run,
                artifacts=tuple(dict.fromkeys((*run.artifacts, *event.artifacts))),
                listed=event.listed,
            )
        case _:
            assert_never(event)


def _steered(run: Run, entry: ev.Entry, event: _OfCourse) -> Run:  # noqa: C901, PLR0911 - one arm per event, as above
    match event:
        case ev.Started():
            return replace(run, started=event, tip=event.change.head, branch=f"punchlist/{run.id}")
        case ev.Failed():
            return _failed(run, entry, event)
        case ev.StepDone():
            return replace(run, done=run.done | {entry.place})
        case ev.RoundEnded():
            return _round_ended(run, entry.place, event)
        case ev.Asked():
            return replace(
                run,
                questions=(*run.questions, Question(entry.place, event.question, event.choices)),
            )
        case ev.Answered():
            return _heard(run, event)
        case ev.Halted():
            return replace(run, halted=event.limit)
        case ev.Interrupted():
            return replace(run, interrupted=True)
        case ev.Resumed():
            return replace(run, interrupted=False)
        case ev.Ended():
            return replace(run, ended=event.outcome)
        case ev.Dismissed() | ev.Returned():
            return run
        case _:
            assert_never(event)


def _reviewed(run: Run, event: ev.Reviewed) -> Run:
    review = Review(
        event.reviewer,
        event.commit,
        len(event.findings),
        event.looked_at,
        event.failed,
        event.skipped,
        event.unread,
    )
    return replace(
        run,
        reported=run.reported + len(event.findings),
        fresh=(*run.fresh, *event.findings),
        fresh_from=(
            {**run.fresh_from, event.reviewer: event.commit}
            if not (event.failed or event.skipped)
            else run.fresh_from
        ),
        refused=(*run.refused, *event.refused),
        reviews={**run.reviews, event.reviewer: review},
        hints=(*run.hints, *event.groups),
        looked_over=(
            {**run.looked_over, event.reviewer: event.unopened} if event.agent else run.looked_over
        ),
    )


def _failed(run: Run, entry: ev.Entry, event: ev.Failed) -> Run:
    """Record the failed action. The actions of a review are named after the reviewers: who could
    not review has failed, whatever an earlier review of theirs said.
    """
    remedy = f" (hint: {event.hint})" if event.hint else ""
    trouble = (*run.trouble, f"{entry.place} {entry.key}: {event.reason}{remedy}")
    known = (*run.started.reviewers, *run.started.crew)
    failed = {entry.key: Review(entry.key, run.tip, failed=event.reason)}
    return replace(
        run, trouble=trouble, reviews=run.reviews | failed if entry.key in known else run.reviews
    )


def _consolidated(run: Run, event: ev.Consolidated) -> Run:
    items = dict(run.items)
    items.update((item.number, item) for item in event.items)
    for sighting in event.sightings:
        item = items[sighting.item].seen(sighting.finding)
        items[sighting.item] = replace(item, in_scope=item.in_scope or sighting.ours)
    return replace(run, items=items, fresh=(), fresh_from={})


def _planning(run: Run, session: str) -> dict[str, str]:
    return {**run.sessions, "plan": session} if session else run.sessions


def _planned(run: Run, event: ev.Planned) -> Run:
    work = Work(
        batches={batch.number: batch for batch in event.batches},
        waiting=event.waiting,
        after=event.after,
    )
    return replace(
        run,
        work=work,
        last_batch=max((batch.number for batch in event.batches), default=run.last_batch),
        todos=run.todos | {todo.item: todo for todo in event.todos},
        sessions=_planning(run, event.session),
        doubts={**run.doubts, **_settled(run, event.answers, "the plan's files")},
    )


def _attempted(run: Run, event: ev.Attempted) -> Run:
    """A batch that another has built over is judged with it."""
    patches = {
        number: patch
        for number, patch in {**run.work.patches, **event.patches}.items()
        if number not in event.absorbed
    }
    batches = run.work.batches | {batch.number: batch for batch in event.batches}
    for old, new in event.absorbed.items():
        gone = batches.pop(old)
        batches[new] = replace(batches[new], items=(*gone.items, *batches[new].items))
    contested = {move.item: move.why for move in event.moves if move.fact is Fact.CONTESTED}
    work = replace(
        run.work,
        batches=batches,
        patches=patches,
        noted={**run.work.noted, **event.noted},
        contested={**run.work.contested, **contested},
        reports=run.work.reports | {report.item: report for report in event.reports},
    )
    sessions = {
        **run.sessions,
        **{f"item {item}": session for item, session in event.sessions.items()},
    }
    return replace(run, work=work, sessions=sessions, diffs={**run.diffs, **_diffs(batches, event)})


def _diffs(batches: dict[int, Batch], event: ev.Attempted) -> dict[int, Diff]:
    known = {
        number: Diff(number, shown) for number, shown in event.hunks.items() if number in batches
    }
    return {item: diff for number, diff in known.items() for item in batches[number].items}


def _committed(run: Run, event: ev.Committed) -> Run:
    names = {
        landed.batch: run.work.batches[landed.batch].title
        for landed in event.landed
        if landed.batch in run.work.batches
    }
    return replace(
        run,
        tip=event.tip or run.tip,
        landed=(*run.landed, *event.landed),
        titles={**run.titles, **names},
        unheard=event.unheard or run.unheard,
        work=replace(run.work, landed=len(event.landed)),
        trouble=(
            (*run.trouble, f"a git hook refused: {event.refused}") if event.refused else run.trouble
        ),
    )


def _round_ended(run: Run, place: str, event: ev.RoundEnded) -> Run:
    now = Round(
        round=event.round,
        open=sum(item.in_scope for item in run.having(*ACTIONABLE)),
        fixed=len(run.having(Status.FIXED)),
        landed=run.work.landed,
        stop=event.stop,
        must_fix=sum(item.must_fix for item in run.having(*ACTIONABLE)),
    )
    return replace(
        run,
        decisions={**run.decisions, place: event.stop},
        rounds=(*run.rounds, now),
        round=run.round + (not event.stop),
        # A new round whose plan fails must not find the last one's batches there, and land them
        # again.
        work=run.work if event.stop else Work(),
    )


def _heard(run: Run, event: ev.Answered) -> Run:
    """Answers to agents are told by their ids; a choice is about the question that waits."""
    if not event.answers:
        return replace(
            run, questions=tuple(_answered(question, event) for question in run.questions)
        )
    return replace(run, doubts={**run.doubts, **_settled(run, event.answers, event.by)})


def _settled(run: Run, answers: dict[str, str], by: str) -> dict[str, Doubt]:
    return {
        name: replace(run.doubts[name], answer=said, by=by)
        for name, said in answers.items()
        if name in run.doubts
    }


def _answered(question: Question, event: ev.Answered) -> Question:
    return question if question.answer else replace(question, answer=event.choice, by=event.by)
