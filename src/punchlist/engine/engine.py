"""Drives one run: names, performs, records, folds, asks again; no barrier between actions of a
step.
"""

import asyncio
from typing import Protocol

from msgspec import Struct

from punchlist.engine.position import MORE, At, Decide, position
from punchlist.engine.stop_rules import put_off, stop_reason
from punchlist.errors import NO_ROOM, PunchlistError, StoreError
from punchlist.model.item.item import ACTIONABLE, Fact, Move, Status
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.outcome import outcome
from punchlist.model.ledger.run import Question, Run
from punchlist.ports.store import Store
from punchlist.ports.world import World
from punchlist.steps import VERBS, Action, Verb
from punchlist.workflow import Workflow

_Running = dict[asyncio.Task[ev.AnyEvent], Action]

_ITSELF = ""
"""The key of what is about a step itself. Actions bear the names of people's tools, and one of
those may well be "done".
"""


class Limits(Struct, frozen=True):
    """What a run may spend; zero means no limit."""

    seconds: float = 0
    dollars: float = 0
    width: int = 4


class Watcher(Protocol):
    """Whoever wants to see a run go by."""

    def began(self, place: str, action: Action) -> None: ...

    def told(self, entry: ev.Entry, run: Run) -> None: ...

    def heard(self, label: str, piece: str) -> None:
        """What an agent says while it works; it is in no ledger."""
        ...


class Engine:
    """One process' hold on one run. The caller has the lease."""

    def __init__(
        self, workflow: Workflow, world: World, store: Store, limits: Limits, watcher: Watcher
    ) -> None:
        self._workflow = workflow
        self._world = world
        self._store = store
        self._limits = limits
        self._watcher = watcher

    async def drive(self, run: Run) -> Run:
        """To the end, to a question, or to a limit; cancelling stops it at an event boundary."""
        self._run = run
        try:
            while not self._run.ended and not self._run.waits:
                await asyncio.sleep(
                    0
                    # steps with nothing to do wait for nothing, and a signal must be heard between
                    # them
                )
                match position(self._workflow, self._run):
                    case None:
                        self._tell("end", "ended", ev.Ended(outcome=outcome(self._run).value))
                    case At() as at if VERBS[at.do.verb].last and self._run.having(Status.CLAIMED):
                        self._return_claims(at)
                    case At() as at:
                        await self._step(at)
                    case Decide() as decide:
                        self._decide(decide)
        except (
            asyncio.CancelledError
        ) as stop:  # its message says on whose word, where somebody gave it
            reason = str(stop) or "stopped by a person or a signal"
            self._tell("signal", f"interrupted {self._run.seq}", ev.Interrupted(reason=reason))
        return self._run

    async def _step(self, at: At) -> None:
        """Asks after every event. A limit lets nothing more begin, and time also ends what is under
        way; neither what must run last nor what must be done whole is cut.
        """
        verb = VERBS[at.do.verb]
        running: _Running = {}
        begun = set(self._run.position.here if self._run.position.place == at.place else ())
        try:
            while True:
                self._start(verb.step(self._run, at.do.options, at.place), at, running, begun)
                if not running:
                    break
                await asyncio.wait(
                    running,
                    timeout=self._time_left(verb, running),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                ended = _taken_out(running)
                self._write_down(at, ended)
                if not ended:
                    self._halt("time")
                    break
        finally:
            by_itself = _taken_out(running)
            stop = await _brought_to_rest(running)
            self._write_down(
                at, by_itself | {task: action for task, action in running.items() if action.whole}
            )
            if stop is not None:
                raise stop
        if not self._run.waits and (verb.last or not self._run.halted):
            self._tell(at.place, _ITSELF, ev.StepDone(verb=at.do.verb))

    def _start(
        self, actions: tuple[Action, ...], at: At, running: _Running, begun: set[str]
    ) -> None:
        last = VERBS[at.do.verb].last
        for action in actions:
            held = frozenset[str]().union(*(each.holds for each in running.values()))
            if action.key in begun or action.holds & held:
                continue
            if 0 < self._limits.width <= len(running) or not (
                last or action.whole or self._may_begin()
            ):
                return
            self._watcher.began(at.place, action)
            running[asyncio.create_task(self._perform(at, action))] = action
            begun.add(action.key)

    def _write_down(self, at: At, ended: _Running) -> None:
        """Every one that came to an end, also where another broke; then what broke
        is let through.
        """
        for task, action in ended.items():
            if not task.cancelled() and task.exception() is None:
                self._tell(at.place, action.key, task.result())
        for task in ended:
            task.result()

    async def _perform(self, at: At, action: Action) -> ev.AnyEvent:
        performer = VERBS[at.do.verb].performers[type(action.input)]
        try:
            return await performer(action.input, self._run, self._world)
        except StoreError:
            raise  # what cannot be written down must not look done
        except PunchlistError as error:
            return ev.Failed(reason=str(error), hint=error.hint)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise StoreError(str(error), hint="free some disk space, then resume") from error
            return ev.Failed(reason=str(error))

    def _return_claims(self, at: At) -> None:
        """What is told last must not find items claimed: nobody works on them any more."""
        why = "the limit came first" if self._run.halted else "its fix was not judged to the end"
        moves = tuple(
            Move(item.number, Fact.REJECTED, by="punchlist", why=why)
            for item in self._run.having(Status.CLAIMED)
        )
        self._tell("limit", f"claims before {at.place}", ev.Returned(why=why, moves=moves))

    def _decide(self, at: Decide) -> None:
        reason = stop_reason(at.until, self._run, self._workflow)
        question = next((q for q in self._run.asking.questions if q.place == at.place), None)
        if reason or not at.at_limit:
            self._tell(
                at.place,
                "decision",
                ev.RoundEnded(
                    round=at.round, stop=reason, moves=put_off(self._run, self._workflow)
                ),
            )
        elif not at.may_ask:
            self._tell(at.place, "decision", self._at_the_limit(at))
        elif question is None:
            self._tell(at.place, "question", self._question(at))
        else:
            self._tell(at.place, "decision", self._answered(at, question))

    def _at_the_limit(self, at: Decide) -> ev.RoundEnded:
        stop = f"limit: {at.round} rounds"
        return ev.RoundEnded(round=at.round, stop=stop, moves=put_off(self._run, self._workflow))

    def _question(self, at: Decide) -> ev.Asked:
        choices = {
            "a": "block: leave the open items for a person",
            "b": "accept: the open items are dismissed on your word",
        }
        if at.left > 0:
            choices[MORE] = f"one more round ({at.left} can still be granted)"
        still = sum(item.must_fix for item in self._run.having(*ACTIONABLE))
        blind = (
            f" Not reviewed to the end: {'; '.join(self._run.blind)}." if self._run.blind else ""
        )
        return ev.Asked(
            question=f"After {at.round} rounds {still} must-fix items are open.{blind}",
            choices=choices,
        )

    def _answered(self, at: Decide, question: Question) -> ev.RoundEnded:
        fact, stop = (
            (Fact.DISMISSED, "accepted")
            if question.answer == "b"
            else (Fact.SAID_BLOCKED, "blocked")
        )
        moves = tuple(
            Move(item.number, fact, by=question.by, why=f"{stop} after {at.round} rounds")
            for item in self._run.having(*ACTIONABLE)
            if item.in_scope
        )
        return ev.RoundEnded(round=at.round, stop=f"{stop} by {question.by}", moves=moves)

    def _may_begin(self) -> bool:
        """Whether there is something left to spend; the first time that there is
        not is an event.
        """
        if self._limits.dollars and self._run.usage.dollars >= self._limits.dollars:
            self._halt("money")
        elif self._limits.seconds and self._seconds() >= self._limits.seconds:
            self._halt("time")
        return not self._run.halted

    def _halt(self, limit: str) -> None:
        if not self._run.halted:
            spent = {"time": f"{self._limits.seconds:g} s", "money": f"${self._limits.dollars:g}"}[
                limit
            ]
            self._tell("limit", "halted", ev.Halted(limit=f"{limit} limit of {spent} reached"))

    def _time_left(self, verb: Verb, running: _Running) -> float | None:
        uncut = verb.last or all(action.whole for action in running.values())
        return (
            None
            if uncut or not self._limits.seconds
            else max(0.0, self._limits.seconds - self._seconds())
        )

    def _seconds(self) -> float:
        """How long the run has been driven, up to now."""
        return self._run.active + max(0.0, self._world.clock() - self._run.last_at)

    def _tell(self, place: str, key: str, event: ev.AnyEvent) -> None:
        """Written first, then folded, then shown."""
        entry = self._store.append(self._run.id, place, key, event, self._world.clock())
        self._run = fold(self._run, entry)
        self._watcher.told(entry, self._run)


def _taken_out(running: _Running) -> _Running:
    """Those that came to an end, in the order in which they began."""
    return {task: running.pop(task) for task in list(running) if task.done()}


async def _brought_to_rest(running: _Running) -> asyncio.CancelledError | None:
    """Waits for what must not be cut, and for the end of what is: that says nothing any more,
    whatever it returns, for it was not seen to its end. A stop that comes meanwhile is obeyed
    afterwards; who cannot wait ends the process, and a resume finds what was done.
    """
    stop = None
    for task, action in running.items():
        if not action.whole:
            task.cancel()
    while left := [task for task in running if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError as told:
            stop = told
    for task, action in running.items():
        if not action.whole and not task.cancelled():
            # looked at, so that nobody is told of an error that was never retrieved
            task.exception()
    return stop
