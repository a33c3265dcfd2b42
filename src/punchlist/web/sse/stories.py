"""A run as a fix session: what each line of the ledger means to somebody who follows the fixing,
issue by issue.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable
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
from punchlist.views.plans.plan_forms import assign_steps, item_code, make_blueprint
from punchlist.web.sse.frames import Position, encode_sse

STREAMING = "fix_issue_streaming"
ERROR = "fix_session_error"
_SESSIONS = 16


class FixEvent(Struct, frozen=True):
    name: str
    data: dict[str, Any]


class FixProgress(Struct, frozen=True):
    """The issues of each step, those that were tried, and the current step (from 1)."""

    steps: tuple[tuple[int, ...], ...] = ()
    tried: frozenset[int] = frozenset()
    current: int = 0


Told = tuple[FixProgress, list[FixEvent]]


def told(progress: FixProgress, run: Run, event: ev.AnyEvent) -> Told:
    """What a line of the ledger adds; `run` is the run after it."""
    tell = _TELL.get(type(event))
    return tell(progress, run, event) if tell else (progress, [])


def _started(progress: FixProgress, run: Run, event: Any) -> Told:
    data = {
        "session_id": run.id,
        "branch_name": run.landing.branch,
        "workflow": event.workflow_name,
        "agents": event.crew,
    }
    return progress, [FixEvent("fix_session_started", data)]


def _handle_step(progress: FixProgress, run: Run, event: Any) -> Told:
    match event.verb:
        case "plan":
            return _begin_steps(run)
        case "fix":
            everything = frozenset(number for step in progress.steps for number in step)
            return _advance_steps(replace(progress, tried=everything), run)
        case "verify" if "challenger" in run.started.crew and (
            waiting := run.find_items(Status.CLAIMED)
        ):
            codes = sorted(item_code(item.number) for item in waiting)
            return progress, [
                FixEvent(
                    "fix_challenger_evaluating",
                    {"session_id": run.id, "round": run.position.round, "issues": codes},
                )
            ]
    return progress, []


def _begin_steps(run: Run) -> Told:
    placed = assign_steps(make_blueprint(run, run.work.batches.values(), "", run.work.after))
    found = tuple(
        tuple(n for n, step in placed.items() if step == each)
        for each in range(1, max(placed.values(), default=0) + 1)
    )
    progress = FixProgress(steps=found, current=1 if found else 0)
    return progress, [_begun(progress, run)] if found else []


def _attempted(progress: FixProgress, run: Run, event: Any) -> Told:
    batches = {
        *event.patches,
        *event.refused,
        *(batch.number for batch in event.batches),
        *event.absorbed.values(),
    }
    items = {
        number
        for batch in batches
        if batch in run.work.batches
        for number in run.work.batches[batch].items
    }
    items |= {report.item for report in event.reports}
    return _advance_steps(replace(progress, tried=progress.tried | items), run)


def _advance_steps(progress: FixProgress, run: Run) -> Told:
    """End every step whose issues were all tried, and begin the next."""
    events = []
    while 0 < progress.current <= len(progress.steps) and progress.tried.issuperset(
        progress.steps[progress.current - 1]
    ):
        events.append(_over(progress, run))
        progress = replace(progress, current=progress.current + 1)
        if progress.current <= len(progress.steps):
            events.append(_begun(progress, run))
    return progress, events


def _begun(progress: FixProgress, run: Run) -> FixEvent:
    codes = [item_code(number) for number in progress.steps[progress.current - 1]]
    data = {
        "session_id": run.id,
        "step": progress.current,
        "total_steps": len(progress.steps),
        "round": run.position.round,
        "issues": codes,
    }
    return FixEvent("fix_step_started", data)


def _over(progress: FixProgress, run: Run) -> FixEvent:
    numbers = progress.steps[progress.current - 1]
    issues = {
        item_code(number): run.items[number].status.value
        for number in numbers
        if number in run.items
    }
    return FixEvent(
        "fix_step_completed",
        {
            "session_id": run.id,
            "step": progress.current,
            "round": run.position.round,
            "issues": issues,
        },
    )


def _challenged(progress: FixProgress, run: Run, event: Any) -> Told:
    issues = {item_code(score.item): _score(score, event.threshold) for score in event.scores}
    data = {
        "session_id": run.id,
        "round": run.position.round,
        "threshold": event.threshold,
        "issues": issues,
        "failed": event.failed,
    }
    return progress, [FixEvent("fix_challenger_result", data)]


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


def _failed(progress: FixProgress, run: Run, event: Any) -> Told:
    return progress, [make_error(run, "action_failed", event.reason, event.hint)]


def _handle_interrupt(progress: FixProgress, run: Run, event: Any) -> Told:
    return progress, [
        make_error(run, "interrupted", event.reason, f"POST /api/runs/{run.id}/resume")
    ]


def _ended(progress: FixProgress, run: Run, event: Any) -> Told:
    issues = {
        item_code(item.number): {
            "status": item.status.value,
            "commit": item.commit,
            "issue": item.issue,
        }
        for item in run.items.values()
        if item.in_scope
    }
    data = {
        "session_id": run.id,
        "outcome": event.outcome,
        "branch_name": run.landing.branch,
        "issues": issues,
    }
    return progress, [
        FixEvent(
            "fix_session_completed",
            {**data, "commits": [landed.commit for landed in run.landing.landed]},
        )
    ]


def make_error(run: Run, reason: str, message: str, next_: str) -> FixEvent:
    return FixEvent(
        ERROR, {"session_id": run.id, "code": reason, "message": message, "next": next_}
    )


_TELL: dict[type, Callable[[FixProgress, Run, Any], Told]] = {
    ev.Started: _started,
    ev.StepDone: _handle_step,
    ev.Attempted: _attempted,
    ev.Challenged: _challenged,
    ev.Failed: _failed,
    ev.Interrupted: _handle_interrupt,
    ev.Ended: _ended,
}


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
            self.progress, events = told(self.progress, run, entry.event)
            for index, event in enumerate(events):
                self.positions.append((entry.seq, index))
                self.frames.append(
                    encode_sse(
                        hide(wire.encode(event.data)), event=event.name, id_=f"{entry.seq}.{index}"
                    )
                )


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
        return (
            (story.positions[index], story.frames[index]) if index < len(story.positions) else None
        )
