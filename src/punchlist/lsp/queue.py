"""When to review: a moment after the last request, one repository at a time, newest first."""

import asyncio
from collections.abc import Awaitable, Callable


class ReviewQueue:
    """At most one review runs; a new request for a repository cancels the older one. `delay`:
    seconds without another request after which a review starts.
    """

    def __init__(self, review: Callable[[str], Awaitable[None]], delay: float = 0.3) -> None:
        self._review = review
        self._delay = delay
        self._turn = asyncio.Lock()
        self._newest: dict[str, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()

    def request(self, root: str) -> None:
        self.cancel(root)
        task = self._newest[root] = asyncio.create_task(self._review_soon(root))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def cancel(self, root: str) -> None:
        if task := self._newest.pop(root, None):
            task.cancel()

    async def close(self) -> None:
        """Cancel all reviews and wait for their children to end."""
        for root in list(self._newest):
            self.cancel(root)
        if self._running:
            await asyncio.wait(set(self._running))

    async def _review_soon(self, root: str) -> None:
        await asyncio.sleep(self._delay)
        async with self._turn:
            await self._review(root)
