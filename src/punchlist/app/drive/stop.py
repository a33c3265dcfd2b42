"""Stopping a run that anybody drives: they are asked to, see it soon, and obey as
they do Ctrl-C.
"""

import asyncio
import time

from msgspec import Struct

from punchlist.adapters.store.lease import holder
from punchlist.adapters.store.stop_request import Stop, ask_to_stop, asked_to_stop, forget_stop
from punchlist.app.session import Session
from punchlist.app.start.wiring import run_folder
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Interrupted, Resumed
from punchlist.model.ledger.run import Run

_LOOK = 0.1


class Stopped(Struct, frozen=True):
    """How the run stands. Where it is not `over` yet, it was asked to stop: something under way
    must be done whole.
    """

    run: Run
    over: bool


def under_way(session: Session) -> list[str]:
    """The runs of this repository, or of all, that somebody drives; newest first."""
    return [
        row.id
        for row in session.runs()
        if not row.outcome and holder(session.home, row.id) is not None
    ]


async def stop(session: Session, run_id: str, by: str, seconds: float = 30) -> Stopped:
    """Asks whoever drives the run to stop it between two events, and waits for so long. It can be
    resumed.
    """
    run = session.load(run_id)
    if holder(session.home, run.id) is None:
        raise UsageError(
            f"no process drives run {run.id}: there is nothing to stop",
            hint=f"punchlist status {run.id}",
        )
    until = time.monotonic() + seconds
    while not (over := _over(session, run)) and time.monotonic() < until:
        _ask(session, run, by)
        await asyncio.sleep(_LOOK)
    if over:
        forget_stop(run_folder(session.home, run.id))
    return Stopped(session.load(run.id), over)


def _over(session: Session, run: Run) -> bool:
    """Nobody drives it; or somebody does again, who was not meant. Who had it already, and only
    then said so, is meant.
    """
    return holder(session.home, run.id) is None or any(
        isinstance(event, Resumed) for event in _since(session, run)[1:]
    )


def _ask(session: Session, run: Run, by: str) -> None:
    """Again where it is gone without having been obeyed: whoever begins to drive forgets what was
    wanted before.
    """
    folder = run_folder(session.home, run.id)
    if asked_to_stop(folder) is None and not any(
        isinstance(event, Interrupted) for event in _since(session, run)
    ):
        ask_to_stop(folder, Stop(by))


def _since(session: Session, run: Run) -> list[object]:
    return [entry.event for entry in session.store.read(run.id, run.seq)]
