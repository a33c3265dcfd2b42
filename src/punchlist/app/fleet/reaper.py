"""Workers that died: their runs are queued again, and what they registered is removed."""

import asyncio
import logging
import time
from collections.abc import Callable

from punchlist.adapters.postgres.state import PostgresState
from punchlist.errors import StoreError

_log = logging.getLogger("punchlist")
_FORGET = 60
"""Seconds between two looks for workers that have long been dead."""


async def reap_dead(state: PostgresState, lease: float, say: Callable[[str], None]) -> None:
    """Take back, again and again, the runs of workers whose lease has ended."""
    queue, forget_at = state.queue, time.monotonic()
    while True:
        try:
            reaped = await asyncio.to_thread(queue.reap)
            for run in reaped.queued:
                say(f"run {run} lost its worker, and is queued again")
            for run in reaped.stuck:
                say(f"run {run} is stuck: its workers died too often")
            if time.monotonic() >= forget_at:
                forget_at = time.monotonic() + _FORGET
                for worker in await asyncio.to_thread(state.workers.forget_dead):
                    await asyncio.to_thread(queue.workflows.forget_worker, worker)
        except StoreError as error:
            _log.warning("dead workers cannot be looked for: %s", error)
        await asyncio.sleep(lease / 5)
