"""Runs driven in a thread of their own, for whoever must go on meanwhile: a server that answers, a
screen that is drawn.

Reports of ten thousand items take seconds to write, and the loop that writes them does nothing
else.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from threading import Thread
from typing import TypeVar

from punchlist.app.drive.background import Begun, Driving
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.engine import Watcher
from punchlist.model.ledger.run import Run

T = TypeVar("T")


class Aside:
    """A thread with an event loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="punchlist aside", daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Begun and awaited over there. It comes to its end also where nobody waits for it any
        more.
        """

        async def done() -> T:
            return await work()

        return await asyncio.shield(
            asyncio.wrap_future(asyncio.run_coroutine_threadsafe(done(), self._loop))
        )

    def soon(self, work: Callable[[], None]) -> None:
        """Done over there as soon as that loop comes to it; nobody waits for it."""
        self._loop.call_soon_threadsafe(work)

    async def aclose(self) -> None:
        """The caller has seen to it that nothing is at work there."""
        await self.do(self._loop.shutdown_asyncgens)
        await self.do(self._loop.shutdown_default_executor)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Beside:
    """The same as Driving, to be asked from any one loop."""

    def __init__(self) -> None:
        self._driving = Driving()
        self.bell = self._driving.bell
        self.talk = self._driving.talk

    @cached_property
    def _aside(self) -> Aside:
        return Aside()

    async def drive(self, session: Session, drive: Callable[[Watcher], Awaitable[Run]]) -> str:
        return await self._aside.do(lambda: self._driving.drive(session, drive))

    async def begin(self, session: Session, ready: Prepared) -> str:
        return await self._aside.do(lambda: self._driving.begin(session, ready))

    async def resume(self, session: Session, run: str) -> str:
        return await self._aside.do(lambda: self._driving.resume(session, run))

    def drives(self, run: str) -> bool:
        return self._driving.drives(run)

    def driven(self) -> tuple[str, ...]:
        return self._driving.driven()

    def under_way(self, run: str) -> tuple[Begun, ...]:
        return self._driving.under_way(run)

    def broke(self, run: str) -> str:
        return self._driving.broke(run)

    async def cancel(self, run: str, by: str = "", seconds: float | None = None) -> bool:
        return self.drives(run) and await self._aside.do(
            lambda: self._driving.cancel(run, by, seconds)
        )

    async def settled(self, run: str) -> None:
        if self.drives(run):
            await self._aside.do(lambda: self._driving.settled(run))

    def stop(self) -> None:
        """Asks all of them to stop, and waits for none."""
        if self._begun:
            self._aside.soon(self._driving.stop)
        self.bell.ring_all()

    async def close(self, seconds: float | None = None) -> None:
        """Stops all of them; one that takes longer is left to the end of the process, and can be
        resumed.
        """
        if not self._begun:
            return
        await self._aside.do(lambda: self._driving.close(seconds))
        if not self.driven():
            await self._aside.aclose()
            del self._aside

    @property
    def _begun(self) -> bool:
        return "_aside" in self.__dict__
