"""Gives single actions of a wide run to other workers, for the worker that drives it.

That worker alone records events. What it gave away it takes back when the worker that has it dies,
gives it back or does not begin, and performs it itself.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from punchlist.adapters.agents.spending import Spending
from punchlist.model.item.usage import Usage
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent
from punchlist.model.ledger.run import Run
from punchlist.ports.fleet.units import Taker, Unit, UnitReport, Units, UnitState, UnitTask
from punchlist.ports.notices import Record
from punchlist.steps import Action

_POLL = 0.2
_COUNT = 1.0
"""Seconds between two looks for idle workers."""
_UNTAKEN = 3.0
"""Seconds after which a unit that no worker has begun is performed here."""
_PAUSE = 5.0
"""Seconds for which nothing more is offered then."""


class _Given(Struct):
    """A unit that was given away."""

    at: float
    over: asyncio.Event = field(default_factory=asyncio.Event)
    withdrawn: bool = False
    taken: bool = False
    event: AnyEvent | None = None
    noted: int = 0
    """How many of its notices are recorded."""
    elsewhere: float = 0


class SpreadActions:
    """The helpers of one run: at most `most` actions are with other workers at once."""

    def __init__(
        self, units: Units, run: str, driver: Taker, spending: Spending, *, most: int
    ) -> None:
        self._units = units
        self._run = run
        self._driver = driver
        self._spending = spending
        self._most = most
        self._given: dict[str, _Given] = {}
        self._idle = 0
        self._counted = 0.0
        self._leftovers = True
        self._broken: Exception | None = None
        self._record: Record = lambda event: None
        self._wake: Callable[[], None] = lambda: None

    async def __aenter__(self) -> Self:
        self._polling = asyncio.create_task(self._poll())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._polling.cancel()
        with suppress(asyncio.CancelledError):
            await self._polling

    @property
    def width(self) -> int:
        """How many actions other workers could have at once, at this moment."""
        taken = sum(each.taken for each in self._given.values())
        return min(self._most, taken + self._idle)

    def subscribe(self, record: Record, wake: Callable[[], None]) -> None:
        self._record, self._wake = record, wake

    async def perform(self, verb: str, action: Action, run: Run) -> AnyEvent | None:
        """Return the event of the action; None if it must be performed here."""
        self._require_poll()
        unit = self._make_unit(verb, action, run)
        given = self._given[unit.id] = _Given(time.monotonic())
        offering = asyncio.ensure_future(asyncio.to_thread(self._units.offer, unit))
        try:
            await asyncio.shield(offering)
            await given.over.wait()
        except asyncio.CancelledError:
            await offering
            await self._take_back(unit.id, given)
            raise
        finally:
            self._given.pop(unit.id)
        self._require_poll()
        return given.event

    def _require_poll(self) -> None:
        if self._broken is not None:
            raise self._broken

    def _make_unit(self, verb: str, action: Action, run: Run) -> Unit:
        task = UnitTask(
            seq=run.seq,
            verb=verb,
            kind=type(action.input).__name__,
            input=wire.encode(action.input).decode(),
            dollars=self._spending.limit,
        )
        return Unit(
            id=token_hex(8),
            run=run.id,
            driver=self._driver.worker,
            version=self._driver.version,
            agents=run.started.crew.get(action.role, ()),
            task=task,
        )

    async def _take_back(self, unit: str, given: _Given) -> None:
        """Let the worker that has the unit end it, and wait for that."""
        given.withdrawn = True
        await asyncio.to_thread(self._units.withdraw, unit)
        await given.over.wait()

    async def _poll(self) -> None:
        try:
            while True:
                if self._given or self._leftovers:
                    await self._look_at_units()
                if time.monotonic() - self._counted > _COUNT:
                    await self._count_idle()
                await asyncio.sleep(_POLL)
        except Exception as error:  # noqa: BLE001 - of whatever kind: no action waits for ever
            self._broken = error
            for given in self._given.values():
                given.over.set()

    async def _count_idle(self) -> None:
        before, self._counted = self.width, time.monotonic()
        self._idle = await asyncio.to_thread(self._units.count_idle, self._run, self._driver)
        if self.width > before:
            self._wake()

    async def _look_at_units(self) -> None:
        states = await asyncio.to_thread(self._units.list_states, self._run)
        self._leftovers = any(state.id not in self._given for state in states)
        for state in states:
            given = self._given.get(state.id)
            if given is None:
                await self._end_leftover(state)
            elif not given.over.is_set():
                await self._look_at(state, given)

    async def _end_leftover(self, state: UnitState) -> None:
        """Withdraw a unit of an earlier driver; once it is over, count what was cut off with it."""
        if state.worker and state.alive and not state.over:
            await asyncio.to_thread(self._units.withdraw, state.id)
        elif await asyncio.to_thread(self._units.remove, state.id):
            self._spending.end_elsewhere(state.id, Usage(), state.report.unfinished)
            for notice in state.report.notices:
                self._record(replace(notice, worker=state.worker))

    async def _look_at(self, state: UnitState, given: _Given) -> None:
        self._note_report(state, given)
        if not state.worker:
            await self._end_untaken(state.id, given)
            return
        given.taken = True
        if state.over or not state.alive:
            await asyncio.to_thread(self._units.remove, state.id)
            self._end(state.id, given, state.report, by=state.worker)
        elif self._spending.limit:
            await self._tell_spent(state, given)

    async def _end_untaken(self, unit: str, given: _Given) -> None:
        late = time.monotonic() - given.at > _UNTAKEN
        remove = partial(self._units.remove, unit, untaken=True)
        if (given.withdrawn or late) and await asyncio.to_thread(remove):
            self._end(unit, given, UnitReport())
            self._idle, self._counted = 0, time.monotonic() + _PAUSE

    def _note_report(self, state: UnitState, given: _Given) -> None:
        report = state.report
        for notice in report.notices[given.noted :]:
            self._record(replace(notice, worker=state.worker))
        given.noted = len(report.notices)
        self._spending.set_elsewhere(state.id, report.dollars)

    async def _tell_spent(self, state: UnitState, given: _Given) -> None:
        """Tell the worker what the run has spent outside of its unit, for the limit of all."""
        dollars = self._spending.dollars - state.report.dollars
        if dollars != given.elsewhere:
            given.elsewhere = dollars
            await asyncio.to_thread(self._units.set_elsewhere, state.id, dollars)

    def _end(self, unit: str, given: _Given, report: UnitReport, *, by: str = "") -> None:
        event = report.event
        spent = event.usage if event is not None else Usage()
        self._spending.end_elsewhere(unit, spent, report.unfinished)
        given.event = replace(event, worker=by) if event is not None else None
        given.taken = False
        given.over.set()
