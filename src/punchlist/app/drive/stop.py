"""Stop a run that any process drives: one requests it, the driving one polls for that."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct

from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Interrupted, Resumed
from punchlist.model.ledger.run import Run
from punchlist.ports.state import Lease, StopRequest, Stops

_ASK_EVERY = 0.1
_POLL_EVERY = 0.2


class StopResult(Struct, frozen=True):
    """`over` is False while an action that must finish still runs."""

    run: Run
    over: bool


def list_driven(session: Session) -> list[str]:
    """Return the driven runs of this repository, or of all; newest first."""
    rows = (row for row in session.runs() if not row.outcome)
    return [row.id for row in rows if session.driver_of(row.id) is not None]


async def stop_run(session: Session, run_id: str, by: str, seconds: float = 30) -> StopResult:
    """Ask the driving process to stop between two events; wait at most `seconds`."""
    run = session.load(run_id)
    queue = session.state.queue
    if queue is not None and queue.cancel(run.id, by, time.time()):
        return StopResult(session.load(run.id), over=True)
    if session.driver_of(run.id) is None:
        raise UsageError(
            f"no process drives run {run.id}: there is nothing to stop",
            hint=f"punchlist status {run.id}",
        )
    until = time.monotonic() + seconds
    while not (over := _is_over(session, run)) and time.monotonic() < until:
        _request_stop(session, run, by)
        await asyncio.sleep(_ASK_EVERY)
    if over:
        session.state.stops.clear(run.id)
    return StopResult(session.load(run.id), over)


def _is_over(session: Session, run: Run) -> bool:
    """Return whether no process drives the run, or another resumed it."""
    return session.driver_of(run.id) is None or any(
        isinstance(event, Resumed) for event in _events_since(session, run)[1:]
    )


def _request_stop(session: Session, run: Run, by: str) -> None:
    """Request the stop, again if a starting driver removed the request without stopping."""
    if session.state.stops.read(run.id) is None and not any(
        isinstance(event, Interrupted) for event in _events_since(session, run)
    ):
        session.state.stops.request(run.id, StopRequest(by))


def _events_since(session: Session, run: Run) -> list[object]:
    return [entry.event for entry in session.store.read(run.id, run.seq)]


async def drive_until_stopped(
    stops: Stops, lease: Lease, drive: Callable[[Run], Awaitable[Run]], run: Run
) -> Run:
    """Run `drive`, polling for a request every 200 ms; on a stop request cancel it as Ctrl-C would.
    The caller has the lease: older requests are deleted, and
    a lease that is lost is a stop, too.
    """
    stops.clear(run.id)
    driver = asyncio.current_task()
    polling = asyncio.create_task(_poll_stop(stops, lease, run.id, driver))
    try:
        return await drive(run)
    finally:
        polling.cancel()
        if driver is not None and polling.done() and polling.result():
            driver.uncancel()  # the run has stopped; its caller goes on
        stops.clear(run.id)


async def _poll_stop(
    stops: Stops, lease: Lease, run: str, driver: "asyncio.Task[object] | None"
) -> bool:
    """Poll until a stop is requested; return whether this cancelled the driver."""
    while (  # noqa: ASYNC110 - another process writes it
        stop := await asyncio.to_thread(stops.read, run)
    ) is None and not lease.lost:
        await asyncio.sleep(_POLL_EVERY)
    if driver is None or driver.cancelling():
        return False
    by = stop.by if stop else ""
    return driver.cancel(f"stopped by {by}" if by else None)
