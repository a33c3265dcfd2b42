"""Drive a run to its end, a question or a limit; resume one that stopped."""

import asyncio
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from punchlist._version import __version__
from punchlist.adapters.git.checkout import Identity
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
from punchlist.ports.artifacts import Tell
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
    if session.source:
        await _bring_commits(session, run, workshop)
    await _require_commits(session, run, workshop)
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


async def _require_commits(session: Session, run: Run, workshop: Workshop) -> None:
    """Raise UsageError if the run is about another repository, or if its commits are in another
    clone of this one.
    """
    path = run.started.repository
    if not session.owns(run):
        raise UsageError(f"run {run.id} is about another repository", hint=f"go to {path}")
    change = run.started.change
    for commit in filter(None, (change.base, change.head, run.landing.tip)):
        if not (await workshop.git.run("cat-file", "-e", f"{commit}^{{commit}}")).ok:
            raise UsageError(
                f"run {run.id} was started in another clone, and this one has no {commit[:12]}",
                hint=f"go to {path}, or fetch the commit",
            )


async def drive_run(
    session: Session, run: Run, workshop: Workshop, watcher: Watcher, lease: Lease
) -> Run:
    started, store = limit_start(session, run), session.store
    name = started.workflow_name
    workflow = parse_workflow(started.workflow, name, f"{name} (as pinned by run {run.id})")
    folder = run_folder(session.home, run.id)
    artifacts = session.artifacts(run.id, tell_in_loop(watcher))
    artifacts.pin(run.pins)
    for file in wiring.list_needed(run):
        await asyncio.to_thread(artifacts.read, file)  # from now on there is a local copy
    files = RunFiles(folder, artifacts)
    workshop = sign_for(run, workshop)
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
    from punchlist.adapters.fleet.shared_repository import MeetingPlace

    await _bring_commits(session, run, workshop)  # again: only now no other worker pushes
    return MeetingPlace(session.source, lease.confirm)


async def _bring_commits(session: Session, run: Run, workshop: Workshop) -> None:
    from punchlist.adapters.fleet.shared_repository import bring_branch

    await bring_branch(workshop, session.source, run.id)


def sign_for(run: Run, workshop: Workshop) -> Workshop:
    """Return the workshop with the author of commits that the run was started with."""
    name, email = run.started.committer_name, run.started.committer_email
    return workshop.sign_as(Identity(name=name, email=email)) if name else workshop


def tell_in_loop(watcher: Watcher) -> Tell:
    """Return what hands a line from any thread to the watcher in this loop."""
    loop = asyncio.get_running_loop()

    def tell(text: str) -> None:
        loop.call_soon_threadsafe(watcher.handle_delay, text)

    return tell


def _remove_kept_files(run: Run, folder: Path) -> None:
    """Delete plans, transcripts and evidence of a run that has ended and whose files are kept
    elsewhere; its reports stay.
    """
    copy = run.filing.kept
    if run.ended and copy is not None and not copy.failed:
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
