"""Driving a run with an ear for whoever wants it stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from punchlist.adapters.store.stop_request import asked_to_stop, forget_stop
from punchlist.model.ledger.run import Run

_LOOK = 0.2
"""Seconds between two looks."""


async def obeyed(folder: Path, drive: Callable[[Run], Awaitable[Run]], run: Run) -> Run:
    """Drives until it is over, or stops between two events as a signal would stop it. `folder` is
    the run's own, and the caller has the lease: what was wanted before was meant for others.
    """
    forget_stop(folder)
    driver = asyncio.current_task()
    looking = asyncio.create_task(_looking(folder, driver))
    try:
        return await drive(run)
    finally:
        looking.cancel()
        if driver is not None and looking.done() and looking.result():
            driver.uncancel()  # it was obeyed, and whoever drives has more to do
        forget_stop(folder)


async def _looking(folder: Path, driver: "asyncio.Task[object] | None") -> bool:
    """Whether it was this that stopped the driver; one who is stopping already must not be
    disturbed.
    """
    while (stop := asked_to_stop(folder)) is None:  # noqa: ASYNC110 - the wish comes from another process
        await asyncio.sleep(_LOOK)
    if driver is None or driver.cancelling():
        return False
    return driver.cancel(f"stopped by {stop.by}" if stop.by else None)
