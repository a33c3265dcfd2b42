"""A run as a fix session: events for each line of the ledger, issue by issue."""

import re
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from punchlist.model.item.item import Status
from punchlist.model.item.score import Score
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.run import Run
from punchlist.ports.store import Store
from punchlist.views.plans.plan_forms import assign_steps, issue_code, issue_id, make_blueprint
from punchlist.web.sse.frames import Position, encode_sse

STREAMING = "fix_issue_streaming"
ERROR = "fix_session_error"
_SESSIONS = 16
_FIXING = re.compile(r" fixer (\d+)")
"""The end of a label: the batch that the call works on."""


class FixEvent(Struct, frozen=True):
    name: str
    data: dict[str, Any]


class FixProgress(Struct, frozen=True):
    """The issues of each step, those that were tried, and the current step (from 1)."""

    steps: tuple[tuple[int, ...], ...] = ()
    tried: frozenset[int] = frozenset()
    current: int = 0


Step = tuple[FixProgress, list[FixEvent]]
"""Progress after a line of the ledger, and the events that it gives."""


def advance(progress: FixProgress, run: Run, event: ev.AnyEvent) -> Step:
    """Return what a line of the ledger adds; `run` is the run after it."""
    match event:
        case ev.StepDone():
            return _end_verb(progress, run, event.verb)
        case ev.Attempted():
            return _advance_steps(_add_attempt(progress, run, event), run)
    return progress, list(_make_events(run, event))


def _make_events(run: Run, event: ev.AnyEvent) -> Iterator[FixEvent]:
    match event:
        case ev.Started():
            yield _event(
                run,
                "fix_session_started",
                branch_name=run.landing.branch,
                workflow=event.workflow_name,
                agents=event.crew,
                issue_ids=event.issue_ids,
            )
        case ev.Challenged():
            yield _challenge_event(run, event)
        case ev.Failed():
            yield make_error(run, "action_failed", event.reason, event.hint)
        case ev.Interrupted():
            resume = f"POST /api/runs/{run.id}/resume"
            yield make_error(run, "interrupted", event.reason, resume)
        case ev.Ended():
            yield _end_event(run, event)


def _event(run: Run, name: str, **data: Any) -> FixEvent:
    return FixEvent(name, {"session_id": run.id, **data})


def name_issues(run: Run, numbers: Iterable[int]) -> dict[str, Any]:
    """Return the codes of these items, and their ids in the same order."""
    known = [number for number in numbers if number in run.items]
    return {
        "issues": [issue_code(run, number) for number in known],
        "issue_ids": [issue_id(run, number) for number in known],
    }


def _name_issue(run: Run, number: int) -> dict[str, Any]:
    return {"issue_id": issue_id(run, number), "issue_code": issue_code(run, number)}


def name_output(run: Run, label: str) -> dict[str, Any]:
    """Return which issues a piece of agents' output is about: those of its batch, else all that
    are not ended; `issue_id` and `issue_code` if it is one.
    """
    call = _FIXING.search(label)
    batch = run.work.batches.get(int(call[1])) if call else None
    numbers = batch.items if batch else [item.number for item in run.left]
    named = name_issues(run, numbers)
    one = _name_issue(run, numbers[0]) if len(numbers) == 1 else {"issue_id": "", "issue_code": ""}
    return {**one, **named}


def make_error(run: Run, reason: str, message: str, next_: str) -> FixEvent:
    ids = run.started.issue_ids
    return _event(run, ERROR, code=reason, message=message, next=next_, issue_ids=ids)


def _end_verb(progress: FixProgress, run: Run, verb: str) -> Step:
    if verb == "plan":
        return _begin_steps(run)
    if verb == "fix":
        everything = frozenset(number for step in progress.steps for number in step)
        return _advance_steps(replace(progress, tried=everything), run)
    waiting = run.find_items(Status.CLAIMED)
    if verb == "verify" and "challenger" in run.started.crew and waiting:
        named = name_issues(run, sorted(item.number for item in waiting))
        round_ = run.position.round
        return progress, [_event(run, "fix_challenger_evaluating", round=round_, **named)]
    return progress, []


def _begin_steps(run: Run) -> Step:
    placed = assign_steps(make_blueprint(run, run.work.batches.values(), "", run.work.after))
    found = tuple(
        tuple(number for number, step in placed.items() if step == each)
        for each in range(1, max(placed.values(), default=0) + 1)
    )
    progress = FixProgress(steps=found, current=1 if found else 0)
    return progress, [_step_started(progress, run)] if found else []


def _add_attempt(progress: FixProgress, run: Run, event: ev.Attempted) -> FixProgress:
    batches = {
        *event.patches,
        *event.refused,
        *(batch.number for batch in event.batches),
        *event.absorbed.values(),
    }
    known = (run.work.batches[batch] for batch in batches if batch in run.work.batches)
    items = {number for batch in known for number in batch.items}
    reported = {report.item for report in event.reports}
    return replace(progress, tried=progress.tried | items | reported)


def _advance_steps(progress: FixProgress, run: Run) -> Step:
    """End every step whose issues were all tried, and begin the next."""
    events = []
    while 0 < progress.current <= len(progress.steps) and progress.tried.issuperset(
        progress.steps[progress.current - 1]
    ):
        events.append(_step_completed(progress, run))
        progress = replace(progress, current=progress.current + 1)
        if progress.current <= len(progress.steps):
            events.append(_step_started(progress, run))
    return progress, events


def _step_started(progress: FixProgress, run: Run) -> FixEvent:
    return _event(
        run,
        "fix_step_started",
        step=progress.current,
        total_steps=len(progress.steps),
        round=run.position.round,
        **name_issues(run, progress.steps[progress.current - 1]),
    )


def _step_completed(progress: FixProgress, run: Run) -> FixEvent:
    numbers = progress.steps[progress.current - 1]
    items = [run.items[number] for number in numbers if number in run.items]
    return _event(
        run,
        "fix_step_completed",
        step=progress.current,
        round=run.position.round,
        issue_ids=name_issues(run, (item.number for item in items))["issue_ids"],
        issues={issue_code(run, item.number): item.status.value for item in items},
        confidence={issue_code(run, each): run.by_item.confidence.get(each) for each in numbers},
    )


def _challenge_event(run: Run, event: ev.Challenged) -> FixEvent:
    return _event(
        run,
        "fix_challenger_result",
        round=run.position.round,
        threshold=event.threshold,
        issues={
            issue_code(run, each.item): _name_issue(run, each.item) | _score(each, event.threshold)
            for each in event.scores
        },
        failed=event.failed,
    )


def _score(score: Score, threshold: int) -> dict[str, Any]:
    return {
        "score": score.score,
        "status": "SOLVED" if score.approves(threshold) else "IN_PROGRESS",
        "feedback": score.feedback,
        "improvements_needed": score.improvements,
        "quality_scores": {
            "correctness": score.correctness,
            "safety": score.safety,
            "style": score.style,
        },
    }


def _end_event(run: Run, event: ev.Ended) -> FixEvent:
    issues = {
        issue_code(run, item.number): {
            **_name_issue(run, item.number),
            "title": item.lead.title,
            "category": item.lead.category,
            "status": item.status.value,
            "confidence": run.by_item.confidence.get(item.number),
            "commit": item.commit,
            "issue": item.issue,
        }
        for item in run.items.values()
        if item.in_scope
    }
    return _event(
        run,
        "fix_session_completed",
        outcome=event.outcome,
        branch_name=run.landing.branch,
        issues=issues,
        commits=list(run.landing.commits),
    )


class _SessionFrames:
    """The frames of one session so far, made once for all readers."""

    def __init__(self, run: str) -> None:
        self._id = run
        self.run: Run | None = None
        self.progress = FixProgress()
        self.positions: list[Position] = []
        self.frames: list[bytes] = []

    def add_entries(self, entries: Iterable[ev.Entry], hide: Callable[[bytes], bytes]) -> None:
        for entry in entries:
            run = fold(self.run, entry) if self.run else fold_entries(self._id, (entry,))
            self.run = run
            self.progress, events = advance(self.progress, run, entry.event)
            for index, event in enumerate(events):
                self.positions.append((entry.seq, index))
                data, id_ = hide(wire.encode(event.data)), f"{entry.seq}.{index}"
                self.frames.append(encode_sse(data, event=event.name, id_=id_))


class FixFrames:
    """FrameSource of fix sessions. Ids come from the ledger alone, so a restart keeps them."""

    def __init__(self, store: Store, hide: Callable[[bytes], bytes]) -> None:
        self._store = store
        self._hide = hide
        self._known: OrderedDict[str, _SessionFrames] = OrderedDict()

    def next_frame(self, run: str, after: Position) -> tuple[Position, bytes] | None:
        story = self._known.pop(run, None) or _SessionFrames(run)
        story.add_entries(self._store.read(run, story.run.seq if story.run else 0), self._hide)
        self._known[run] = story
        if len(self._known) > _SESSIONS:
            self._known.popitem(last=False)
        index = bisect_right(story.positions, after)
        if index == len(story.positions):
            return None
        return story.positions[index], story.frames[index]
