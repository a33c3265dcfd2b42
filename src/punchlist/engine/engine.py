"""Drives one run: asks the step, performs its actions in parallel, records and folds events."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from hashlib import sha256
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.engine.escalation import apply_answer, ask_user, retry_items
from punchlist.engine.perform import Helpers, perform_action
from punchlist.engine.position import MORE, PendingDecision, PendingStep, find_position
from punchlist.engine.stop_rules import block_deferred, find_unsettled, stop_reason
from punchlist.model.item.item import Fact, Item, Move, Status
from punchlist.model.item.usage import UNKNOWN_COST, Usage
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.outcome import run_outcome
from punchlist.model.ledger.run import Run, parse_round
from punchlist.ports.store import Store
from punchlist.ports.world import World
from punchlist.steps import VERBS, Action
from punchlist.workflow.language import Until, Workflow

_Running = dict[asyncio.Task[ev.AnyEvent], Action]

_ITSELF = ""
"""The key of a step's own event: any other could be the name of a tool, and so of an action."""


class Limits(Struct, frozen=True):
    """What a run may spend; zero means no limit. `budget` returns why runs together may spend no
    more, or "".
    """

    seconds: float = 0
    dollars: float = 0
    width: int = 4
    budget: Callable[[], str] = lambda: ""


class Watcher(Protocol):
    """Receives the progress of a run."""

    def handle_start(self, place: str, action: Action) -> None: ...

    def handle_event(self, entry: ev.Entry, run: Run) -> None: ...

    def handle_output(self, label: str, piece: str) -> None:
        """Receive a piece of an agent's output, which is not in the ledger."""
        ...

    def handle_delay(self, text: str) -> None:
        """Receive what the run waits for at the moment."""
        ...


class Engine:
    """Drives one run in one process. The caller holds the lease."""

    def __init__(
        self, workflow: Workflow, world: World, store: Store, limits: Limits, watcher: Watcher
    ) -> None:
        self._workflow = workflow
        self._world = world
        self._store = store
        self._limits = limits
        self._watcher = watcher
        self._notices: list[ev.AnyEvent] = []
        self._posted = asyncio.Event()
        self.helpers: Helpers | None = None
        self._elsewhere: set[str] = set()
        """The keys of running actions that were given to helpers."""
        self._places = asyncio.Semaphore(limits.width) if limits.width > 0 else nullcontext()

    async def drive(self, run: Run) -> Run:
        """Drive the run to its end, a question or a limit; can be cancelled between two events."""
        self._run = run
        self._world.subscribe(self._post_notice)
        if self.helpers:
            self.helpers.subscribe(self._post_notice, self._posted.set)
        try:
            while not self._run.ended and not self._run.waits:
                await asyncio.sleep(0)  # between steps with nothing to do it can be cancelled, too
                await self._advance()
        except asyncio.CancelledError as stop:
            reason = str(stop) or "stopped by a person or a signal"
            key = f"interrupted {self._run.seq}"
            with suppress(asyncio.CancelledError):  # a second stop, after it is recorded
                await self._record_event("signal", key, ev.Interrupted(reason=reason))
        await self._record_notices()
        return self._run

    async def _advance(self) -> None:
        match find_position(self._workflow, self._run):
            case None:
                outcome = run_outcome(self._run).value
                await self._record_event("end", "ended", ev.Ended(outcome=outcome))
            case PendingStep() as at:
                if VERBS[at.do.verb].last and self._run.find_items(Status.CLAIMED):
                    await self._return_claims(at)
                else:
                    await self._run_step(at)
            case PendingDecision() as decide:
                await self._decide_round(decide)

    async def _run_step(self, at: PendingStep) -> None:
        """Run the actions of one step, asking the step again after every event. At a limit no
        action starts; the time limit also cancels running ones, except `whole` actions and verbs
        that only end what was begun.
        """
        verb = VERBS[at.do.verb]
        ends = verb.last or (verb.closes and bool(self._run.halted))
        running: _Running = {}
        self._elsewhere.clear()
        begun = set(self._run.position.here if self._run.position.place == at.place else ())
        try:
            while True:
                actions = verb.step(self._run, at.do.options, at.place)
                await self._start_actions(actions, at, running, begun, ends=ends)
                if not running:
                    break
                left = None if ends else self._time_left(running)
                over = not await self._wait_for_news(running, left)
                await self._record_notices()
                await self._record_results(at, _pop_done(running))
                if over:
                    await self._halt("time")
                    break
        finally:
            done = _pop_done(running)
            stop = await _finish_running(running)
            whole = {task: action for task, action in running.items() if action.whole}
            await self._record_results(at, done | whole)
            if stop is not None:
                raise stop
        if not self._run.waits and (ends or not self._run.halted):
            await self._record_event(at.place, _ITSELF, ev.StepDone(verb=at.do.verb))

    async def _wait_for_news(self, running: _Running, seconds: float | None) -> bool:
        """Wait until an action has ended or a child has done something; return whether that came in
        so many seconds.
        """
        posted = asyncio.create_task(self._posted.wait())
        try:
            waited = {*running, posted}
            done, _ = await asyncio.wait(
                waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            return bool(done)
        finally:
            posted.cancel()

    async def _start_actions(
        self,
        actions: tuple[Action, ...],
        at: PendingStep,
        running: _Running,
        begun: set[str],
        *,
        ends: bool,
    ) -> None:
        """Start what may start now; `ends`: no limit holds these actions up."""
        for action in actions:
            held = frozenset[str]().union(*(each.holds for each in running.values()))
            if action.key in begun or action.holds & held:
                continue
            elsewhere = 0 < self._limits.width <= len(running) - len(self._elsewhere)
            if elsewhere and not self._has_helper():
                return
            if elsewhere and not self._is_portable(at, action):
                continue
            if not (ends or action.whole or await self._can_begin()):
                return
            if action.role or (VERBS[at.do.verb].announced and not begun):
                await self._record_start(at, action)
            self._watcher.handle_start(at.place, action)
            if elsewhere:
                self._elsewhere.add(action.key)
            doing = self._perform_action(at, action, elsewhere=elsewhere)
            running[asyncio.create_task(doing)] = action
            begun.add(action.key)

    def _has_helper(self) -> bool:
        return self.helpers is not None and len(self._elsewhere) < self.helpers.width

    def _is_portable(self, at: PendingStep, action: Action) -> bool:
        """Return whether another worker may perform it; an outside agent comes to this one."""
        portable = type(action.input) in VERBS[at.do.verb].portable and not action.whole
        return portable and not self._run.has_outside_agent(action.role)

    async def _record_start(self, at: PendingStep, action: Action) -> None:
        """Record that the action starts; an action that a resumed run starts again, once more."""
        begun = ev.Begun(
            verb=at.do.verb,
            step=at.place,
            round=parse_round(at.place) or self._run.position.round,
            about=action.about,
            role=action.role,
            agents=self._run.started.crew.get(action.role, ()),
        )
        await self._record_event("begin", f"{at.place} {action.key} after {self._run.seq}", begun)

    async def _record_results(self, at: PendingStep, ended: _Running) -> None:
        """Record all finished actions, then raise the first error among them."""
        for task, action in ended.items():
            if not task.cancelled() and task.exception() is None:
                await self._record_event(at.place, action.key, task.result())
        for task in ended:
            task.result()

    async def _perform_action(
        self, at: PendingStep, action: Action, *, elsewhere: bool
    ) -> ev.AnyEvent:
        """Perform the action; one that was given away and came back undone is performed here, as
        soon as there is room.
        """
        verb, run = at.do.verb, self._run
        if elsewhere and self.helpers:
            try:
                event = await self.helpers.perform(verb, action, run)
            finally:
                self._elsewhere.discard(action.key)
            if event is not None:
                return event
        async with self._places:
            return await perform_action(verb, action.input, run, self._world)

    async def _return_claims(self, at: PendingStep) -> None:
        """Reject all claimed items before the last step: no fix is in progress any more."""
        why = "the limit came first" if self._run.halted else "its fix was not judged to the end"
        moves = tuple(
            Move(item.number, Fact.REJECTED, by="punchlist", why=why)
            for item in self._run.find_items(Status.CLAIMED)
        )
        await self._record_event(
            "limit", f"claims before {at.place}", ev.Returned(why=why, moves=moves)
        )

    async def _decide_round(self, at: PendingDecision) -> None:
        """Stop, ask the user or go on, by the findings that are left after the round's review."""
        run = self._run
        question = next((q for q in run.asking.questions if q.place == at.place), None)
        reason = stop_reason(at.until, run, self._workflow, asks=at.may_ask)
        unsettled = find_unsettled(run)
        ends_unsettled = bool(unsettled or run.blind) and at.until is not Until.SETTLED
        asks = at.may_ask and (ends_unsettled if reason else at.at_limit)
        if question is not None and question.answer == MORE and MORE in question.choices:
            moves = retry_items(unsettled, question.by, "one more round was granted")
            event: ev.AnyEvent = ev.RoundEnded(round=at.round, moves=moves)
        elif asks and question is None:
            asked = ask_user(at, run, unsettled, reason)
            await self._record_event(at.place, "question", asked)
            return
        elif asks and question is not None:
            event = apply_answer(at, question, run)
        else:
            limit = f"limit: {at.round} rounds" if at.at_limit else ""
            moves = self._end_round_moves(at, unsettled, stop=reason or limit)
            event = ev.RoundEnded(round=at.round, stop=reason or limit, moves=moves)
        await self._record_event(at.place, "decision", event)

    def _end_round_moves(
        self, at: PendingDecision, unsettled: Sequence[Item], *, stop: str
    ) -> tuple[Move, ...]:
        """Return moves that block what is out of attempts; if the loop asks at its limit and goes
        on, those that give the fixer once more what it called blocked.
        """
        if stop or not at.may_ask or at.until is Until.SETTLED:
            return block_deferred(self._run, self._workflow)
        blocked = [item for item in unsettled if item.status is Status.BLOCKED]
        return retry_items(blocked, "punchlist", "reviewers report it, and no fix of it landed")

    async def _can_begin(self) -> bool:
        """Return whether money and time are left; the first time they are not, record Halted."""
        usage = self._run.usage
        if self._limits.dollars and usage.dollars >= self._limits.dollars:
            await self._halt("money")
        elif self._limits.dollars and usage.unpriced:
            await self._halt("cost")
        elif self._limits.seconds and self._driven_seconds() >= self._limits.seconds:
            await self._halt("time")
        elif why := self._limits.budget():
            await self._halt(why)
        return not self._run.halted

    async def _halt(self, limit: str) -> None:
        """Record which limit was reached, or why."""
        if not self._run.halted:
            limits = self._limits
            words = {
                "time": f"time limit of {limits.seconds:g} s reached",
                "money": f"money limit of ${limits.dollars:g} reached",
                "cost": f"money limit of ${limits.dollars:g} cannot be kept: {UNKNOWN_COST}",
            }
            await self._record_event("limit", "halted", ev.Halted(limit=words.get(limit, limit)))

    def _time_left(self, running: _Running) -> float | None:
        uncut = all(action.whole for action in running.values())
        if uncut or not self._limits.seconds:
            return None
        return max(0.0, self._limits.seconds - self._driven_seconds())

    def _driven_seconds(self) -> float:
        """Return how many seconds the run was driven, up to now."""
        return self._run.active + max(0.0, self._world.clock() - self._run.last_at)

    def _post_notice(self, event: ev.AnyEvent) -> None:
        """Take what a child did while its action still runs; the driver records it."""
        self._notices.append(event)
        self._posted.set()

    async def _record_notices(self) -> None:
        self._posted.clear()
        while self._notices:
            await self._write_event("child", f"notice {self._run.seq}", self._notices.pop(0))

    async def _record_event(self, place: str, key: str, event: ev.AnyEvent) -> None:
        """Append the event to the ledger, fold it, then notify the watcher; notices come first."""
        await self._record_notices()
        await self._write_event(place, key, event)

    async def _write_event(self, place: str, key: str, event: ev.AnyEvent) -> None:
        """Write in a thread, so that a slow store holds up nothing else, and never half: a stop
        that comes meanwhile is raised after it. The event also carries what calls used that were
        cut off since the event before.
        """
        cut = self._world.collect_cut_calls()
        if cut != Usage():
            event = replace(event, usage=event.usage + replace(cut, seconds=0))
        if pins := await self._pin_transcript(event):
            event = replace(event, pins={**event.pins, **pins})
        append, at = self._store.append, self._world.clock()
        writing = asyncio.ensure_future(
            asyncio.to_thread(append, self._run.id, place, key, event, at)
        )
        stop = await _wait_for([writing])
        entry = writing.result()
        self._world.artifacts.pin(entry.event.pins)
        self._run = fold(self._run, entry)
        self._watcher.handle_event(entry, self._run)
        if stop is not None:
            raise stop

    async def _pin_transcript(self, event: ev.AnyEvent) -> dict[str, str]:
        """Return the hash of the transcript that the event names, by its name."""
        name: str = getattr(event, "transcript", "")
        content = await asyncio.to_thread(self._world.artifacts.read, name) if name else None
        return {} if content is None else {name: sha256(content).hexdigest()}


def _pop_done(running: _Running) -> _Running:
    """Remove and return the finished tasks, in the order they started."""
    return {task: running.pop(task) for task in list(running) if task.done()}


async def _finish_running(running: _Running) -> asyncio.CancelledError | None:
    """Cancel all but `whole` actions and wait for all; results of cancelled ones are dropped.

    Return a CancelledError that came meanwhile, or None.
    """
    for task, action in running.items():
        if not action.whole:
            task.cancel()
    stop = await _wait_for(running)
    for task, action in running.items():
        if not action.whole and not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not warn about it
    return stop


async def _wait_for(tasks: Iterable[asyncio.Task[Any]]) -> asyncio.CancelledError | None:
    """Wait for all of them, also when cancelled; return that then, to be raised again."""
    stop, waited = None, list(tasks)
    while left := [task for task in waited if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as error:
            stop = error
    return stop
