"""Fold the ledger into a run; only here do events become state."""

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from typing import assert_never

from msgspec.structs import replace

from punchlist.errors import UsageError
from punchlist.model.item.item import ACTIONABLE, Item, Move, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.append_only import AppendOnlyMap
from punchlist.model.ledger.children import add_child
from punchlist.model.ledger.fold_work import add_items, apply_work, point_at_shown, settled
from punchlist.model.ledger.round_history import PastEvent, extend_history
from punchlist.model.ledger.run import (
    Landing,
    LatestReview,
    Question,
    Round,
    RoundWork,
    Run,
    parse_round,
)
from punchlist.model.ledger.timeline import make_moment


def fold(run: Run, entry: ev.Entry) -> Run:
    """Return the run after one more ledger entry."""
    event = entry.event
    run = _enter_place(run, entry)
    run = replace(
        run,
        seq=entry.seq,
        head=entry.hash,
        last_at=entry.at,
        active=run.active + _active_seconds(run, entry),
        started_at=run.started_at or entry.at,
        usage=run.usage + event.usage,
        weaknesses=run.weaknesses | {*event.weaknesses} if event.weaknesses else run.weaknesses,
        items=_apply_moves(run, event.moves),
        pins=run.pins | event.pins if event.pins else run.pins,
    )
    round_ = run.position.round
    run = replace(
        run, history=extend_history(run.history, PastEvent(round_, run.active, event, entry.at))
    )
    if now := make_moment(entry, run.active, round_):
        run = replace(run, timeline=run.timeline.with_value(now))
    return _apply_event(run, entry, event)


def _active_seconds(run: Run, entry: ev.Entry) -> float:
    """Return the seconds since the last entry, or 0 if no process drove the run."""
    pause_ends = isinstance(entry.event, ev.Resumed | ev.Answered)
    idle = pause_ends or entry.place == "people" or not run.seq
    return 0 if idle else max(0, entry.at - run.last_at)


def begin(run_id: str, entries: Iterator[ev.Entry]) -> Run:
    """Take the first entry and return the run it starts; raise UsageError if it starts none."""
    first = next(entries, None)
    if first is None or not isinstance(first.event, ev.Started):
        raise UsageError(
            f"run {run_id} has no beginning", hint="start a new one with `punchlist run`"
        )
    return fold(Run(id=run_id, started=first.event), first)


def fold_entries(run_id: str, entries: Iterable[ev.Entry]) -> Run:
    lines = iter(entries)
    return reduce(fold, lines, begin(run_id, lines))


_ASIDE = frozenset({"signal", "limit", "people", "begin", "child"})
"""Places of entries from outside the workflow; the step that is under way keeps its events."""
_NO_ACTION = (ev.Started, ev.StepDone, ev.RoundEnded, ev.Ended)
"""Events of the engine itself; a step must not take them for an action of its own."""


def _enter_place(run: Run, entry: ev.Entry) -> Run:
    step = entry.event.step if isinstance(entry.event, ev.Begun) else entry.place
    now = replace(run.position, round=parse_round(step) or run.position.round)
    if entry.place in _ASIDE:
        return replace(run, position=now)
    here = now.here if entry.place == now.place else AppendOnlyMap[str, ev.AnyEvent]()
    if isinstance(entry.event, _NO_ACTION):
        here = AppendOnlyMap()
    elif not isinstance(entry.event, ev.Asked | ev.Answered):
        here = here.with_entry(entry.key, entry.event)  # a step that asks keeps what it has done
    return replace(run, position=replace(now, place=entry.place, here=here))


def _apply_moves(run: Run, moves: Iterable[Move]) -> Mapping[int, Item]:
    after: dict[int, Item] = {}
    for move in moves:
        if known := after.get(move.item) or run.items.get(move.item):
            moved = known.apply_move(move, run.position.round)
            after[move.item] = point_at_shown(moved, run.landing.shown)
    return add_items(run.items, after)


def _apply_event(run: Run, entry: ev.Entry, event: ev.AnyEvent) -> Run:
    if isinstance(event, ev.WorkEvent):
        return apply_work(run, event)
    if isinstance(event, ev.ChildEvent):
        return replace(run, children=add_child(run.children, event))
    return _apply_control(run, entry, event)


def _apply_control(run: Run, entry: ev.Entry, event: ev.ControlEvent) -> Run:  # noqa: C901, PLR0911 - one arm per event, as above
    match event:
        case ev.Started():
            landing = Landing(branch=f"punchlist/{run.id}", tip=event.change.head)
            return replace(run, started=event, landing=landing)
        case ev.Failed():
            return _failed(run, entry, event)
        case ev.StepDone():
            done = run.position.done | {entry.place}
            return replace(run, position=replace(run.position, done=done))
        case ev.RoundEnded():
            return _end_round(run, entry.place, event)
        case ev.Asked():
            asked = Question(entry.place, event.question, event.choices)
            questions = (*run.asking.questions, asked)
            return replace(run, asking=replace(run.asking, questions=questions))
        case ev.Answered():
            return _add_answers(run, event)
        case ev.Halted():
            return replace(run, halted=event.limit)
        case ev.Interrupted():
            return replace(run, interrupted=True)
        case ev.Resumed():
            known = dict.fromkeys((*run.overrides, *event.overrides))
            return replace(run, interrupted=False, overrides=tuple(known))
        case ev.Ended():
            return replace(run, ended=event.outcome)
        case ev.Dismissed() | ev.Returned() | ev.Begun() | ev.Ordered() | ev.Shown():
            return run
        case _:
            assert_never(event)


def _failed(run: Run, entry: ev.Entry, event: ev.Failed) -> Run:
    """Record the failed action; if it is a review, it counts as the reviewer's latest."""
    remedy = f" (hint: {event.hint})" if event.hint else ""
    trouble = (*run.trouble, f"{entry.place} {entry.key}: {event.reason}{remedy}")
    reviews = run.reviewing.reviews
    if entry.key in (*run.started.reviewers, *run.started.crew):  # an action named by a reviewer
        review = LatestReview(entry.key, run.landing.tip, failed=event.reason)
        reviews = {**reviews, entry.key: review}
    return replace(run, trouble=trouble, reviewing=replace(run.reviewing, reviews=reviews))


def _end_round(run: Run, place: str, event: ev.RoundEnded) -> Run:
    now = Round(
        round=event.round,
        open=sum(item.in_scope for item in run.find_items(*ACTIONABLE)),
        fixed=len(run.find_items(Status.FIXED)),
        landed=run.work.landed,
        stop=event.stop,
        must_fix=sum(item.must_fix for item in run.find_items(*ACTIONABLE)),
    )
    position = replace(
        run.position,
        decisions={**run.position.decisions, place: event.stop},
        rounds=(*run.position.rounds, now),
    )
    # Cleared, or a new round whose plan fails would land the last one's batches again.
    work = run.work if event.stop else RoundWork()
    return replace(run, position=position, work=work)


def _add_answers(run: Run, event: ev.Answered) -> Run:
    """Record answers to agents by question id, or a choice for the waiting question."""
    if not event.answers:
        questions = tuple(_answer_question(question, event) for question in run.asking.questions)
        return replace(run, asking=replace(run.asking, questions=questions))
    doubts = {**run.asking.doubts, **settled(run, event.answers, event.by)}
    return replace(run, asking=replace(run.asking, doubts=doubts))


def _answer_question(question: Question, event: ev.Answered) -> Question:
    return question if question.answer else replace(question, answer=event.choice, by=event.by)
