"""Drive a run and poll for stop requests."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from punchlist.adapters.store.stop_request import clear_stop, read_stop
from punchlist.model.ledger.run import Run

_LOOK = 0.2
"""Seconds between two looks."""


async def drive_until_stopped(
    folder: Path, drive: Callable[[Run], Awaitable[Run]], run: Run
) -> Run:
    """Run `drive`, polling the stop file every 200 ms; on a stop request cancel it as Ctrl-C would.
    The caller has the lease: older requests are deleted.
    """
    clear_stop(folder)
    driver = asyncio.current_task()
    looking = asyncio.create_task(_poll_stop(folder, driver))
    try:
        return await drive(run)
    finally:
        looking.cancel()
        if driver is not None and looking.done() and looking.result():
            driver.uncancel()  # it was obeyed, and whoever drives has more to do
        clear_stop(folder)


async def _poll_stop(folder: Path, driver: "asyncio.Task[object] | None") -> bool:
    """Poll until a stop is requested; return whether this cancelled the driver."""
    while (stop := read_stop(folder)) is None:  # noqa: ASYNC110 - the wish comes from another process
        await asyncio.sleep(_LOOK)
    if driver is None or driver.cancelling():
        return False
    return driver.cancel(f"stopped by {stop.by}" if stop.by else None)
