"""One review at a time, and the newest request wins."""

import asyncio

from punchlist.lsp.queue import ReviewQueue


def test_a_new_request_cancels_the_older_review_and_no_two_run_at_once():
    started, cancelled, finished = [], [], []
    running = 0

    async def work():
        begun, may_end = asyncio.Queue(), asyncio.Event()

        async def review(root: str) -> None:
            nonlocal running
            running += 1
            assert running == 1
            started.append(root)
            begun.put_nowait(root)
            try:
                await may_end.wait()
                finished.append(root)
            except asyncio.CancelledError:
                await asyncio.sleep(0)  # children take a moment to end
                cancelled.append(root)
                raise
            finally:
                running -= 1

        queue = ReviewQueue(review, delay=0)
        queue.request("a")
        await begun.get()
        queue.request("b")  # another repository waits for its turn
        for _ in range(5):
            queue.request("a")
        assert await begun.get() == "b"
        may_end.set()
        await begun.get()
        while queue._running:
            await asyncio.wait(set(queue._running))
        queue.request("a")
        queue.cancel("a")
        await queue.close()

    asyncio.run(work())
    assert cancelled == ["a"]
    assert finished == ["b", "a"]
    assert started == ["a", "b", "a"]


def test_closing_waits_for_a_review_that_was_cancelled():
    ended = []

    async def work():
        begun = asyncio.Event()

        async def review(root: str) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.append(root)

        queue = ReviewQueue(review, delay=0)
        queue.request("a")
        await begun.wait()
        queue.cancel("a")
        await queue.close()

    asyncio.run(work())
    assert ended == ["a"]
