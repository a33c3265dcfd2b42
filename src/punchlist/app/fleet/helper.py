"""Performs single actions of runs that other workers drive.

An action is performed as its driver would do it: by the ledger up to the entry at which it was
given away, with the settings and the consent that the run pinned as far as this worker's own
settings let it, in this worker's own clone and work trees. Nothing is recorded here: the driver
gets the event.
"""

import asyncio
import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.adapters.agents.spending import Spending
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.drive.budget import set_dollar_limit
from punchlist.app.drive.drive import OwnParts, bring_commits, build_run_world, require_commits
from punchlist.app.fleet.worker_session import WorkerSession, Workplace
from punchlist.app.start.agents import open_spending
from punchlist.engine import perform_action
from punchlist.errors import PunchlistError, StoreError, UsageError
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent, Failed, Reproduced
from punchlist.model.ledger.fold import fold_entries
from punchlist.model.ledger.run import Run
from punchlist.ports.fleet.queue import Room
from punchlist.ports.fleet.units import Taker, Unit, UnitReport, UnitTask
from punchlist.ports.world import World
from punchlist.steps import VERBS
from punchlist.steps.judging.baseline import find_disagreement

_log = logging.getLogger("punchlist")
_POLL = 0.2
_SIGN = 10.0
"""Seconds between two signs of life of a unit that has nothing new to tell."""
_UNFIT = 100
"""So many runs are remembered that this worker could not help."""


class _Unfit(PunchlistError):
    """This worker cannot do what the driver can."""


class _AllBut:
    """All runs but one."""

    def __init__(self, run: str) -> None:
        self._run = run

    def __contains__(self, run: object) -> bool:
        return run != self._run


class _UnitProgress:
    """What the driver is told of a unit that is under way."""

    def __init__(self, folder: Path, task: UnitTask, run: Run) -> None:
        self.notices: list[AnyEvent] = []
        self.spending: Spending = open_spending(folder, task.dollars, run.usage)

    def report(self) -> UnitReport:
        return UnitReport(
            notices=tuple(self.notices),
            dollars=self.spending.own_dollars,
            unfinished=self.spending.unfinished,
        )

    def conclude(self, event: AnyEvent | None, why: str) -> UnitReport:
        return UnitReport(
            event=event,
            why=why,
            notices=tuple(self.notices),
            dollars=self.spending.own_dollars,
            unfinished=self.spending.collect_cut(),
        )


class TakenUnits:
    """The units that one worker has."""

    def __init__(self, at: Workplace, labels: Sequence[str], say: Callable[[str], None]) -> None:
        self._at = at
        self._units = at.state.units
        self._labels = tuple(labels)
        self._say = say
        self._tasks: set[asyncio.Task[None]] = set()
        self._unfit: deque[str] = deque(maxlen=_UNFIT)
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._agreed: set[tuple[str, ...]] = set()
        self._folder = at.home / "units"
        remove_folder(self._folder)  # what a killed worker left in this home

    @property
    def count(self) -> int:
        return len(self._tasks)

    async def take_unit(self, room: Room, ended: Callable[[], None]) -> bool:
        """Take and begin a unit; return whether there was one. `ended` is called when it is over.
        Raise StoreError.
        """
        taker = Taker(
            worker=self._at.worker,
            labels=self._labels,
            version=__version__,
            room=room,
            unfit=tuple(self._unfit),
        )
        unit = await asyncio.to_thread(self._units.take, taker)
        if unit is None:
            return False
        task = asyncio.create_task(self._help(unit))
        self._tasks.add(task)

        def forget(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            ended()

        task.add_done_callback(forget)
        return True

    def give_back(self) -> None:
        """End all units; their drivers perform them."""
        for task in self._tasks:
            if not task.cancelling():
                task.cancel()

    async def _help(self, unit: Unit) -> None:
        """Perform a unit and tell its driver what came of it, or that it is given back."""
        self._say(f"run {unit.run}: this worker does a unit ({unit.task.verb})")
        folder = self._folder / unit.id
        try:
            report = await self._do_unit(unit, folder)
            with suppress(StoreError):  # the driver notices that this worker is gone
                await asyncio.to_thread(self._units.finish, unit.id, self._at.worker, report)
        finally:
            remove_folder(folder)  # agents' homes hold copies of logins
        if report.why:
            self._say(f"run {unit.run}: the unit was given back: {report.why}")

    async def _do_unit(self, unit: Unit, folder: Path) -> UnitReport:
        event, why, progress = None, "", None
        try:
            run = await asyncio.to_thread(self._load_run, unit)
            progress = _UnitProgress(folder, unit.task, run)
            event = await self._perform_watched(unit, run, folder, progress)
            if why := find_own_trouble(event):
                event = None
                self._unfit.append(unit.run)
        except asyncio.CancelledError:
            why = "it was ended"
        except StoreError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - of whatever kind: its driver performs it
            self._unfit.append(unit.run)
            why = str(error)
            if not isinstance(error, PunchlistError):
                _log.exception("a unit of run %s broke off", unit.run)
        return progress.conclude(event, why) if progress else UnitReport(why=why)

    def _load_run(self, unit: Unit) -> Run:
        """Return the run as it was when the unit was given away."""
        entries = self._at.state.store.read(unit.run)
        return fold_entries(unit.run, takewhile(lambda each: each.seq <= unit.task.seq, entries))

    async def _perform_watched(
        self, unit: Unit, run: Run, folder: Path, progress: _UnitProgress
    ) -> AnyEvent:
        work = asyncio.create_task(self._perform(unit, run, folder, progress))
        watching = asyncio.create_task(self._watch(unit, progress, work))
        try:
            return await work
        finally:
            watching.cancel()

    async def _watch(
        self, unit: Unit, progress: _UnitProgress, work: "asyncio.Task[AnyEvent]"
    ) -> None:
        """Tell how far the unit is, and cancel the work once the driver does not want it."""
        told, at = UnitReport(), time.monotonic()
        while not work.done():
            await asyncio.sleep(_POLL)
            now, due = progress.report(), time.monotonic() - at > _SIGN
            report = now if due or now != told else None
            try:
                spent = await asyncio.to_thread(self._units.beat, unit.id, self._at.worker, report)
            except StoreError:
                continue  # the database is away; the next beat tells whether it is still wanted
            if report is not None:
                told, at = now, time.monotonic()
            if spent is None:
                work.cancel()
                return
            if spent:
                progress.spending.set_earlier(spent)

    async def _perform(
        self, unit: Unit, run: Run, folder: Path, progress: _UnitProgress
    ) -> AnyEvent:
        job = await asyncio.to_thread(self._at.state.queue.find, unit.run)
        if job is None:
            raise UsageError(f"run {unit.run} is in no queue", hint="punchlist queue")
        task = decode_input(unit.task)
        async with self._at.open_session(job.source, run.started) as session:
            workshop = await session.workshop()
            async with self._turns[unit.run]:
                await self._require_commits(session, run, workshop)
            limits = await session.limit_start(run.started)
            if limits.refused:
                raise _Unfit(limits.refused, hint="give all workers the same settings")
            run = replace(run, started=limits.started)
            started = set_dollar_limit(run.started, unit.task.dollars)
            own = OwnParts(folder, progress.spending)
            world = await build_run_world(session, run, started, workshop, own)
            world.subscribe(progress.notices.append)
            async with self._turns[unit.run]:
                await self._require_agreement(run, world)
            try:
                return await perform_action(unit.task.verb, task, run, world)
            except asyncio.CancelledError:
                WorkTrees(workshop).prune(_AllBut(unit.run))  # half a fix is of no use
                raise

    async def _require_commits(self, session: WorkerSession, run: Run, workshop: Workshop) -> None:
        try:
            await require_commits(session, run, workshop)
        except UsageError:
            await bring_commits(session, run, workshop)
            await require_commits(session, run, workshop)

    async def _require_agreement(self, run: Run, world: World) -> None:
        """Raise _Unfit if a check says something else of the base here than the ledger has."""
        measured = (run.id, *sorted(run.checks.baselines))
        if measured in self._agreed:
            return
        if why := await find_disagreement(run, world):
            raise _Unfit(why, hint="give all workers the same tools")
        self._agreed.add(measured)


def decode_input(task: UnitTask) -> Struct:
    """Return the input of the action. Raise UsageError if no other worker may perform it."""
    verb = VERBS.get(task.verb)
    kinds = {kind.__name__: kind for kind in verb.portable} if verb else {}
    if task.kind not in kinds:
        what = f"{task.verb} {task.kind} is no action for another worker"
        raise UsageError(what, hint="let all workers have the same version")
    return wire.decode(task.input.encode(), kinds[task.kind])


def find_own_trouble(event: AnyEvent) -> str:
    """Return why an event counts for nothing that no agent worked for, or '': a program, a login or
    a file may be missing on this machine only.
    """
    if isinstance(event, Failed):
        return event.reason
    if event.usage.agents_worked:
        return ""
    if isinstance(event, Reproduced):
        return "" if event.red else event.why
    return str(getattr(event, "failed", ""))
