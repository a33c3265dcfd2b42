"""A thread with an event loop of its own: work that may hold up its loop for seconds does not hold
up whoever looks on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class Aside:
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
