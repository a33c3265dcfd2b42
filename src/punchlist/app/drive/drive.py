"""Drive a run to its end, a question or a limit; resume one that stopped."""

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from punchlist._version import __version__
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.drive.answers import has_ended
from punchlist.app.drive.budget import limit_start, require_budget
from punchlist.app.drive.stop import drive_until_stopped
from punchlist.app.drive.tracing import trace_run
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import RunFiles, remove_agent_homes
from punchlist.engine import Engine, Limits, Watcher
from punchlist.errors import UsageError
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.run import Run
from punchlist.ports.state import Lease
from punchlist.settings import decode_settings, run_folder
from punchlist.workflow.loader import parse_workflow

if TYPE_CHECKING:
    from punchlist.adapters.fleet.shared_repository import MeetingPlace


async def resume_run(session: Session, run_id: str, watcher: Watcher) -> Run:
    """Resume a run from its ledger, with the scope, settings and workflow it was started with."""
    run = session.load(run_id)
    if has_ended(run):
        return run
    workshop = await session.workshop()
    repository = run.started.repository
    if repository != session.repository:
        raise UsageError(f"run {run.id} is about another repository", hint=f"go to {repository}")
    if run.started.crew:
        require_budget(session)
    with session.state.leases.acquire(run.id, run.started.request) as lease:
        run = fold_entries(run.id, session.store.read(run.id))
        if has_ended(run):  # another process drove it meanwhile
            return run
        entry = session.store.append(
            run.id, "signal", f"resumed {run.seq}", ev.Resumed(version=__version__), time.time()
        )
        run = fold(run, entry)
        watcher.handle_event(entry, run)
        return await drive_run(session, run, workshop, watcher, lease)


async def drive_run(
    session: Session, run: Run, workshop: Workshop, watcher: Watcher, lease: Lease
) -> Run:
    started, store = limit_start(session, run), session.store
    name = started.workflow_name
    workflow = parse_workflow(started.workflow, name, f"{name} (as pinned by run {run.id})")
    folder = run_folder(session.home, run.id)
    files = RunFiles(folder, session.artifacts(run.id))
    hear, own = watcher.handle_output, session.own_agents
    flags = session.flags
    place = await _meet_workers(session, run, workshop, lease) if session.source else None
    world = wiring.build_world(
        workshop, run, started, store, files, hear, own_agents=own, flags=flags, place=place
    )
    settings = decode_settings(started.settings).settings
    limits = settings.limits
    allowed = Limits(seconds=limits.time, dollars=limits.dollars, width=limits.width)
    with trace_run(watcher, session.settings().settings.traces, run.id) as watching:
        engine = Engine(workflow, world, store, allowed, watching)
        run = await drive_until_stopped(session.state.stops, lease, engine.drive, run)
    if not settings.keep.local:
        _remove_kept_files(run, folder)
    return remove_agent_homes(run, folder)


async def _meet_workers(
    session: Session, run: Run, workshop: Workshop, lease: Lease
) -> "MeetingPlace":
    """Bring what other workers committed; return where they find what this one commits."""
    from punchlist.adapters.fleet.shared_repository import MeetingPlace, bring_branch

    await bring_branch(workshop, session.source, run.id)
    return MeetingPlace(session.source, lease.confirm)


def _remove_kept_files(run: Run, folder: Path) -> None:
    """Delete plans, transcripts and evidence of a run that has ended and whose files are kept
    elsewhere; its reports stay.
    """
    copy = run.filing.kept
    if run.ended and copy is not None and not copy.failed:
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
