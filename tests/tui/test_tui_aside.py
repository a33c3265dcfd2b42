"""Work in a thread of its own: whoever looks on is not held up, errors come back, and what was begun comes to its end."""

import asyncio
import threading
import time

import pytest

from punchlist.app.drive.threaded import LoopThread


def aside(journey):
    async def main():
        beside = LoopThread()
        try:
            return await journey(beside)
        finally:
            await beside.aclose()

    return asyncio.run(main())


def test_what_holds_up_its_loop_does_not_hold_up_ours():
    go = threading.Event()

    async def blocking():
        return go.wait(60)

    async def journey(beside):
        task = asyncio.create_task(beside.run_work(blocking))
        await asyncio.sleep(0.05)
        assert not task.done(), "we go on meanwhile"
        go.set()
        return await task

    assert aside(journey)


def test_an_error_over_there_is_an_error_here():
    async def broken():
        raise ValueError("as it was")

    with pytest.raises(ValueError, match="as it was"):
        aside(lambda beside: beside.run_work(broken))


def test_what_was_begun_comes_to_its_end_where_nobody_waits_any_more():
    go, done = threading.Event(), threading.Event()

    async def work():
        await asyncio.to_thread(go.wait, 60)
        done.set()

    async def journey(beside):
        task = asyncio.create_task(beside.run_work(work))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        deadline = time.monotonic() + 30
        while not done.is_set():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    aside(journey)
