"""Stop a run that any process drives, by a stop file."""

import asyncio
import time

from msgspec import Struct

from punchlist.adapters.store.lease import find_holder
from punchlist.adapters.store.stop_request import StopRequest, clear_stop, read_stop, request_stop
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Interrupted, Resumed
from punchlist.model.ledger.run import Run

_LOOK = 0.1


class StopResult(Struct, frozen=True):
    """`over` is False while an action that must finish still runs."""

    run: Run
    over: bool


def list_driven(session: Session) -> list[str]:
    """Return the driven runs of this repository, or of all; newest first."""
    return [
        row.id
        for row in session.runs()
        if not row.outcome and find_holder(session.home, row.id) is not None
    ]


async def stop_run(session: Session, run_id: str, by: str, seconds: float = 30) -> StopResult:
    """Ask the driving process to stop between two events; wait at most `seconds`."""
    run = session.load(run_id)
    if find_holder(session.home, run.id) is None:
        raise UsageError(
            f"no process drives run {run.id}: there is nothing to stop",
            hint=f"punchlist status {run.id}",
        )
    until = time.monotonic() + seconds
    while not (over := _is_over(session, run)) and time.monotonic() < until:
        _request_stop(session, run, by)
        await asyncio.sleep(_LOOK)
    if over:
        clear_stop(run_folder(session.home, run.id))
    return StopResult(session.load(run.id), over)


def _is_over(session: Session, run: Run) -> bool:
    """Return whether no process drives the run, or another one resumed it."""
    return find_holder(session.home, run.id) is None or any(
        isinstance(event, Resumed) for event in _events_since(session, run)[1:]
    )


def _request_stop(session: Session, run: Run, by: str) -> None:
    """Write the stop file, again if a starting driver removed it without stopping."""
    folder = run_folder(session.home, run.id)
    if read_stop(folder) is None and not any(
        isinstance(event, Interrupted) for event in _events_since(session, run)
    ):
        request_stop(folder, StopRequest(by))


def _events_since(session: Session, run: Run) -> list[object]:
    return [entry.event for entry in session.store.read(run.id, run.seq)]
