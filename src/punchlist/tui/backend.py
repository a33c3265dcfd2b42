"""Where a person sits: the ledger to look at, and the few things that can be done to a run, through
the app.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.store.lease import Holder, holder
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app import App
from punchlist.app.after.dismissals import Chosen
from punchlist.app.drive.next_actions import due
from punchlist.app.drive.run_cache import Folded
from punchlist.app.drive.stop import stop
from punchlist.app.drive.threaded import Beside
from punchlist.app.run_state import State, state_of, state_of_row
from punchlist.model.ledger.events import Dismissal
from punchlist.model.ledger.run import Run
from punchlist.ports import RunRow
from punchlist.tui.board import tally
from punchlist.tui.snapshot import Look
from punchlist.views.summary import summary

_DUE = 12
"""Actions that are listed; a round may have thousands."""


def _looked(run: Run, *, here: bool) -> Look:
    next_ = () if here else due(run)
    return Look(
        run=run,
        told=summary(run),
        state=state_of(run),
        tally=tally(run),
        here=here,
        due=next_[:_DUE],
        more_due=max(0, len(next_) - _DUE),
    )


class RunLine(Struct, frozen=True):
    row: RunRow
    state: State


class Station:
    """`opened` gives an app that stands where the person does; whoever asks for one closes it."""

    def __init__(
        self, home: Path, repository: str, opened: Callable[[], Awaitable[App]], who: str
    ) -> None:
        self.home = home
        self._repository = repository
        self._opened = opened
        self._who = who
        self.driving = Beside()
        self.drove: dict[str, None] = {}
        """Runs that this process has driven, the last one last: it goes on with them, too, once
        they are answered.
        """

    @cached_property
    def _store(self) -> SqliteStore:
        """Opened at the first look at a run: there may be no ledger before the
        first one has begun.
        """
        return SqliteStore.open(self.home, readonly=True)

    @cached_property
    def _folded(self) -> Folded:
        return Folded(self._store)

    async def rest(self) -> None:
        """Stops what is driven here, each run between two events, and waits for that."""
        await self.driving.close()

    async def aclose(self) -> None:
        await self.rest()
        if "_store" in self.__dict__:
            self._store.close()

    def find(self, named: str) -> str:
        return self._store.find(named, self._repository)

    def runs(self) -> list[RunLine]:
        """Those of the repository one stands in, or all; newest first. There may be no ledger yet,
        and one a moment later: it is opened anew each time.
        """
        with SqliteStore.open(self.home, readonly=True) as store:
            rows = store.runs(self._repository)
        return [
            RunLine(row, state_of_row(row, driven=self.driver(row.id) is not None)) for row in rows
        ]

    def driver(self, run: str) -> Holder | None:
        return holder(self.home, run)

    def load(self, run: str) -> Run:
        """As it is now; only what is new in its ledger is folded."""
        return self._folded.load(run)

    def look(self, name: str, last: Look | None = None) -> Look:
        """Reads and folds; for a thread beside the screen. While the run is the same, what it
        decides is not worked out again.
        """
        run = self.load(name)
        at_it = self.driver(name)
        here = self.driving.drives(name)
        same = last is not None and last.run is run and last.here == here
        seen = last if last is not None and same else _looked(run, here=here)
        return replace(
            seen,
            state=state_of(run, driven=here or at_it is not None),
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
        app = await self._opened()
        try:
            return await app.answer(run.id, said, self._who, asked=len(run.asking.questions))
        finally:
            app.close()

    async def resume(self, run: str) -> None:
        app = await self._opened()
        await self.drive(lambda driving: driving.resume(app, run))

    async def stop(self, run: str) -> bool:
        """Whether it has stopped. What is driven elsewhere is asked to: somebody there sees it
        soon.
        """
        if await self.driving.cancel(run, self._who):
            return True
        app = await self._opened()
        try:
            return (await stop(app, run, self._who)).over
        finally:
            app.close()

    async def dismiss(self, run: str, number: int, why: str, *, undo: bool = False) -> None:
        """It comes to its end, and is closed there, also where the person has gone on and nobody
        waits for it.
        """
        app = await self._opened()
        with ExitStack() as until_then:
            until_then.callback(app.close)
            saying = Dismissal(await app.who() or self._who, why, "")
            until_then.pop_all()

        def done() -> None:
            with closing(app):
                app.dismiss(run, Chosen(numbers=(number,)), saying, undo=undo)

        await asyncio.to_thread(done)
