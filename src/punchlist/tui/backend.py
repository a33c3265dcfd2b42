"""Where a person sits: the ledger to look at, and the few things that can be done to a run, through
the session.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec.structs import replace

from punchlist.app import Session
from punchlist.app.after.dismissals import Chosen, dismiss_items
from punchlist.app.drive.next_actions import due
from punchlist.app.drive.threaded import Beside
from punchlist.app.workspace import Workspace
from punchlist.model.ledger.events import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.tui.board import tally
from punchlist.tui.snapshot import Look
from punchlist.views.run_line import RunLine
from punchlist.views.run_state import find_state
from punchlist.views.summary import summary

_STOPPING = 30.0
"""Seconds to wait for another process to stop a run."""
_DUE = 12
"""Actions that are listed; a round may have thousands."""


def _looked(run: Run, *, here: bool) -> Look:
    next_ = () if here else due(run)
    return Look(
        run=run,
        told=summary(run),
        state=find_state(run, driven=here),
        tally=tally(run),
        here=here,
        due=next_[:_DUE],
        more_due=max(0, len(next_) - _DUE),
    )


class Station(Workspace[Beside]):
    """`opened` gives a session where the person stands; whoever asks for one closes it."""

    def __init__(
        self, home: Path, repository: str, opened: Callable[[], Awaitable[Session]], who: str
    ) -> None:
        super().__init__(Session(home, None, {}, readonly=True), Beside())
        self._repository = repository
        self._opened = opened
        self._who = who
        self.drove: dict[str, None] = {}
        """Runs that this process has driven, the last one last: it goes on with them, too, once
        they are answered.
        """

    async def open_for(self, run: str) -> Session:
        return await self._opened()

    async def rest(self) -> None:
        """Stops what is driven here, each run between two events, and waits for that."""
        await self.driving.close()

    async def aclose(self) -> None:
        await self.rest()
        self.session.close()

    def find(self, named: str) -> str:
        return self.session.store.find(named, self._repository)

    def runs(self) -> list[RunLine]:
        """Those of the repository one stands in, or all; newest first. There may be no ledger yet,
        and one a moment later: it is opened anew each time.
        """
        with closing(Session(self.home, None, {}, readonly=True)) as session:
            rows = session.store.runs(self._repository)
        return [self.line(row) for row in rows]

    def driven(self, run: str) -> bool:
        """Whether a process has the lock of the run; one that just waits or ends has it no more."""
        return self.session.driver_of(run) is not None

    def look(self, name: str, last: Look | None = None) -> Look:
        """Reads and folds; for a thread beside the screen. While the run is the same, what it
        decides is not worked out again.
        """
        run = self.load(name)
        at_it = self.session.driver_of(name)
        here = self.driving.drives(name)
        same = last is not None and last.run is run and last.here == here
        seen = last if last is not None and same else _looked(run, here=here)
        return replace(
            seen,
            state=find_state(run, driven=here or at_it is not None),
            driver="this window" if here else f"process {at_it.pid}" if at_it else "",
            begun=self.driving.under_way(name),
            trouble=self.driving.broke(name),
        )

    async def drive(self, begin: Callable[[Beside], Awaitable[str]]) -> str:
        """Begins a run, or goes on with one, and returns its name."""
        name = await begin(self.driving)
        self.drove = {**{each: None for each in self.drove if each != name}, name: None}
        return name

    async def answer(self, run: Run, said: str | Mapping[str, str]) -> Run:
        """`run` as the person saw it."""
        return await self.answer_question(run.id, said, self._who, len(run.asking.questions))

    async def resume(self, run: str) -> None:
        session = await self._opened()
        await self.drive(lambda driving: driving.resume(session, run))

    async def stop(self, run: str) -> bool:
        """Whether it has stopped. What is driven elsewhere is asked to: somebody there sees it
        soon.
        """
        return await self.stop_run(run, self._who, _STOPPING)

    async def dismiss_item(self, run: str, number: int, why: str, *, undo: bool = False) -> None:
        """It comes to its end, and is closed there, also where the person has gone on and nobody
        waits for it.
        """
        session = await self._opened()
        with ExitStack() as until_then:
            until_then.callback(session.close)
            saying = Dismissal(await session.who() or self._who, why, "")
            until_then.pop_all()

        def done() -> None:
            with closing(session):
                dismiss_items(session, run, Chosen(numbers=(number,)), saying, undo=undo)

        await asyncio.to_thread(done)
