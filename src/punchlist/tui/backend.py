"""What the screens call: snapshots of runs, and actions on a run through the app."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.app.after.apply import apply_branch, discard_branch
from punchlist.app.after.dismissals import ItemSelection, dismiss_items
from punchlist.app.drive.background import ActiveAction
from punchlist.app.drive.next_actions import find_due
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.app.session import Session
from punchlist.app.workspace import Workspace
from punchlist.model.ledger.earlier_runs import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.steps import Action
from punchlist.tui.board import count_shelves
from punchlist.views.run_line import RunLine
from punchlist.views.run_state import State, find_state
from punchlist.views.summary import Summary, summarize_run

_STOPPING = 30.0
"""Seconds to wait for another process to stop a run."""
_DUE = 12
"""Actions that are listed; a round may have thousands."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """All that the screen shows of a run, computed in a thread."""

    run: Run
    summary: Summary
    state: State
    tally: dict[str, int]
    driver: str = ""
    """The process that drives it, in words, or empty."""
    here: bool = False
    """Whether this process drives it."""
    begun: tuple[ActiveAction, ...] = ()
    due: tuple[Action, ...] = ()
    """What the ledger says is next, if another process or none drives it."""
    more_due: int = 0
    trouble: str = ""
    """Why this process stopped driving it, or cannot read it."""

    @property
    def face(self) -> tuple[object, ...]:
        """Equal for two snapshots that look the same."""
        return (self.run.seq, self.state, self.driver, self.begun, self.trouble)


def _build_snapshot(run: Run, *, here: bool) -> Snapshot:
    due = () if here else find_due(run)
    return Snapshot(
        run=run,
        summary=summarize_run(run),
        state=find_state(run, driven=here),
        tally=count_shelves(run),
        here=here,
        due=due[:_DUE],
        more_due=max(0, len(due) - _DUE),
    )


class Backend(Workspace[ThreadedDriver]):
    """`opened` returns a new session in the user's folder; the caller closes it."""

    def __init__(
        self,
        home: Path,
        repository: RepositoryKey,
        opened: Callable[[], Awaitable[Session]],
        who: str,
    ) -> None:
        super().__init__(Session(home, None, {}, readonly=True), ThreadedDriver())
        self._repository = repository
        self._opened = opened
        self._who = who
        self.drove: dict[str, None] = {}
        """Runs that this process has driven, the last one last; it resumes them after an answer."""

    async def open_for(self, run: str) -> Session:
        return await self._opened()

    async def stop_driving(self) -> None:
        """Stop all runs driven here, each between two events, and wait for that."""
        await self.driving.close()

    async def aclose(self) -> None:
        await self.stop_driving()
        self.session.close()

    def find_run(self, named: str) -> str:
        return self.session.store.find_run(named, self._repository.path, self._repository.identity)

    def list_runs(self) -> list[RunLine]:
        """Return the runs of this repository, or all, newest first; there may be no ledger yet."""
        with closing(Session(self.home, None, {}, readonly=True)) as session:
            rows = session.store.runs(self._repository.path, self._repository.identity)
        return [self.line(row) for row in rows]

    def is_driven(self, run: str) -> bool:
        """Return whether a process has the run's lock; one that only waits has not."""
        return self.session.driver_of(run) is not None

    def take_snapshot(self, name: str, last: Snapshot | None = None) -> Snapshot:
        """Read and fold the run, for a worker thread. Reuse `last` if the run has not changed."""
        run = self.load(name)
        holder = self.session.driver_of(name)
        here = self.driving.is_driving(name)
        if last is None or last.run is not run or last.here != here:
            last = _build_snapshot(run, here=here)
        return replace(
            last,
            state=find_state(run, driven=here or holder is not None),
            driver="this window" if here else f"process {holder.pid}" if holder else "",
            begun=self.driving.active_actions(name),
            trouble=self.driving.failure_reason(name),
        )

    async def drive_run(self, begin: Callable[[ThreadedDriver], Awaitable[str]]) -> str:
        name = await begin(self.driving)
        self.drove = {**{each: None for each in self.drove if each != name}, name: None}
        return name

    async def record_answer(self, run: Run, said: str | Mapping[str, str]) -> Run:
        """`run` is the state that the user saw."""
        return await self.answer_question(run.id, said, self._who, len(run.asking.questions))

    async def resume(self, run: str) -> None:
        session = await self._opened()
        await self.drive_run(lambda driving: driving.resume_run(session, run))

    async def stop(self, run: str) -> bool:
        """Stop the run and return whether it has stopped; another process is only asked to."""
        return await self.stop_run(run, self._who, _STOPPING)

    async def apply(self, run: str) -> str:
        """Merge the fixes into the user's branch; return what was done."""
        async with self.session_of(run) as session:
            return await apply_branch(session, run)

    async def discard(self, run: str) -> str:
        async with self.session_of(run) as session:
            return await discard_branch(session, run)

    async def dismiss_item(self, run: str, number: int, why: str, *, undo: bool = False) -> None:
        await self.dismiss_items(run, (number,), why, undo=undo)

    async def dismiss_items(
        self, run: str, numbers: Sequence[int], why: str, *, undo: bool = False
    ) -> None:
        """Dismiss items in a thread, which finishes even if this task is cancelled."""
        chosen = ItemSelection(numbers=tuple(numbers))
        session = await self._opened()
        with ExitStack() as until_then:
            until_then.callback(session.close)
            saying = Dismissal(await session.who() or self._who, why, "")
            until_then.pop_all()

        def write_dismissal() -> None:
            with closing(session):
                dismiss_items(session, run, chosen, saying, undo=undo)

        await asyncio.to_thread(write_dismissal)
