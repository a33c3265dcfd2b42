"""Drive runs in their own thread, so that a server or screen stays responsive.

Writing reports of ten thousand items blocks a loop for seconds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import cached_property
from threading import Thread
from typing import TypeVar

from punchlist.app.drive.background import RunDriver
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.engine import Watcher
from punchlist.model.ledger.run import Run

T = TypeVar("T")


class LoopThread:
    """A thread with an event loop of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="punchlist aside", daemon=True)
        self._thread.start()

    async def run_work(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run the work in the thread and await it; it ends also if the caller is cancelled."""

        async def await_work() -> T:
            return await work()

        future = asyncio.run_coroutine_threadsafe(await_work(), self._loop)
        return await asyncio.shield(asyncio.wrap_future(future))

    def call_soon(self, work: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(work)

    async def aclose(self) -> None:
        """Stop the loop and the thread; nothing may run there any more."""
        await self.run_work(self._loop.shutdown_asyncgens)
        await self.run_work(self._loop.shutdown_default_executor)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class ThreadedDriver:
    """A RunDriver that can be called from any one loop."""

    def __init__(self) -> None:
        self._driving = driver = RunDriver()
        self.bell, self.talk = driver.bell, driver.talk
        self.is_driving, self.list_driven = driver.is_driving, driver.list_driven
        self.active_actions, self.failure_reason = driver.active_actions, driver.failure_reason

    @cached_property
    def _aside(self) -> LoopThread:
        return LoopThread()

    async def drive(self, session: Session, drive: Callable[[Watcher], Awaitable[Run]]) -> str:
        return await self._aside.run_work(lambda: self._driving.drive(session, drive))

    async def begin_run(self, session: Session, ready: Prepared) -> str:
        return await self._aside.run_work(lambda: self._driving.begin_run(session, ready))

    async def resume_run(self, session: Session, run: str) -> str:
        return await self._aside.run_work(lambda: self._driving.resume_run(session, run))

    async def cancel_run(self, run: str, by: str = "", seconds: float | None = None) -> bool:
        return self.is_driving(run) and await self._aside.run_work(
            lambda: self._driving.cancel_run(run, by, seconds)
        )

    async def wait_settled(self, run: str) -> None:
        if self.is_driving(run):
            await self._aside.run_work(lambda: self._driving.wait_settled(run))

    def stop_all(self) -> None:
        if self._begun:
            self._aside.call_soon(self._driving.stop_all)
        self.bell.ring_all()

    async def close(self, seconds: float | None = None) -> None:
        """Stop all runs; one that takes longer than `seconds` can be resumed."""
        if not self._begun:
            return
        await self._aside.run_work(lambda: self._driving.close(seconds))
        if not self.list_driven():
            await self._aside.aclose()
            del self._aside

    @property
    def _begun(self) -> bool:
        return "_aside" in self.__dict__
