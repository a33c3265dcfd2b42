"""The stages of a fix as events, made from the engine's own."""

import asyncio
from collections.abc import Callable

from punchlist.library.fix_values import FixEvent, FixEventType
from punchlist.library.tracked import current_time
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Run
from punchlist.steps import VERBS, Action
from punchlist.steps.support.agent_fix import AgentFix
from punchlist.views.fix_report import fix_report

_VERIFYING = tuple(VERBS["verify"].performers)


class FixEvents:
    """Receives events and yields them to one `async for`, which ends after `fix_completed`."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[FixEvent] = asyncio.Queue()
        self._ended = False

    def __call__(self, event: FixEvent) -> None:
        self._queue.put_nowait(event)

    def __aiter__(self) -> "FixEvents":
        return self

    async def __anext__(self) -> FixEvent:
        if self._ended:
            raise StopAsyncIteration
        event = await self._queue.get()
        self._ended = event.type is FixEventType.FIX_COMPLETED
        return event


class StageWatcher:
    """Watches a run and reports the stages of its cycles."""

    def __init__(self, report: Callable[[FixEvent], None] | None) -> None:
        self._report = report
        self._cycle = 0
        self._verifying = False
        self._open = False

    def send(self, kind: FixEventType, message: str) -> None:
        if self._report is not None:
            self._report(FixEvent(kind, self._cycle, message, current_time()))

    def handle_start(self, place: str, action: Action) -> None:
        if isinstance(action.input, AgentFix):
            self.send(FixEventType.AGENT_INVOKED, action.about)
        elif isinstance(action.input, _VERIFYING) and self._open and not self._verifying:
            self._verifying = True
            self.send(FixEventType.VERIFICATION_STARTED, action.about)

    def handle_event(self, entry: ev.Entry, run: Run) -> None:
        match entry.event:
            case ev.Planned(batches=batches) if any(batch.uses_agent for batch in batches):
                self._begin_cycle(sum(len(batch.items) for batch in batches))
            case ev.StepDone(verb="verify") if self._open:
                status = _last_status(run)
                self.send(FixEventType.VERIFICATION_RESULT, status)
            case ev.RoundEnded(stop=stop) if self._open:
                self._open = False
                self.send(FixEventType.CYCLE_COMPLETED, stop or "another cycle follows")
            case _:
                pass

    def handle_output(self, label: str, piece: str) -> None: ...

    def handle_delay(self, text: str) -> None: ...

    def _begin_cycle(self, items: int) -> None:
        self._cycle += 1
        self._open, self._verifying = True, False
        self.send(FixEventType.CYCLE_STARTED, f"{items} findings to fix")


def _last_status(run: Run) -> str:
    """Return the status of the last cycle so far, and what was held against its changes."""
    cycles = fix_report(run).cycles
    if not cycles:
        return "unverified"
    told = cycles[-1].verification
    return ": ".join(filter(None, (str(told.status), "; ".join(told.failures) or told.unverified)))
