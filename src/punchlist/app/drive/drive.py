"""Drive a run to its end, a question or a limit; resume one that stopped."""

import asyncio
import time
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from punchlist._version import __version__
from punchlist.adapters.agents.spending import Spending
from punchlist.adapters.folders.look import is_folder
from punchlist.adapters.folders.remove import remove_folder
from punchlist.adapters.git.checkout import Identity
from punchlist.adapters.git.workshop import Workshop
from punchlist.app.drive.answers import has_ended
from punchlist.app.drive.budget import limit_start, require_budget, watch_budgets
from punchlist.app.drive.stop import drive_until_stopped
from punchlist.app.drive.tracing import require_telemetry, trace_run
from punchlist.app.sandboxes import check_sandbox_settings
from punchlist.app.session import Session
from punchlist.app.start import wiring
from punchlist.app.start.agents import RunFiles, open_spending, remove_agent_homes
from punchlist.engine import Engine, Helpers, Limits, Watcher
from punchlist.errors import UsageError
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.fold import fold, fold_entries
from punchlist.model.ledger.run import Run
from punchlist.ports.artifacts import Tell
from punchlist.ports.fleet.queue import Room
from punchlist.ports.remarks import tell_remarks
from punchlist.ports.state import Lease
from punchlist.ports.world import World
from punchlist.settings import decode_settings, run_folder
from punchlist.workflow.loader import parse_workflow

if TYPE_CHECKING:
    from punchlist.adapters.fleet.shared_repository import MeetingPlace


class OwnParts(NamedTuple):
    """What this process has of a run's world. `folder`: its files on this machine; `place`: where
    the workers of a fleet leave commits for each other.
    """

    folder: Path
    spending: Spending
    watcher: Watcher | None = None
    place: "MeetingPlace | None" = None


async def resume_run(session: Session, run_id: str, watcher: Watcher) -> Run:
    """Resume a run from its ledger, with the scope, settings and workflow it was started with."""
    run = session.load(run_id)
    if has_ended(run):
        return run
    require_telemetry(session.settings().settings.traces)
    workshop = await session.workshop()
    if session.source:
        await bring_commits(session, run, workshop)
    await require_commits(session, run, workshop)
    if run.started.crew:
        require_budget(session)
    with session.state.leases.acquire(run.id, run.started.request) as lease:
        run = fold_entries(run.id, session.store.read(run.id))
        if has_ended(run):  # another process drove it meanwhile
            return run
        limits = await session.limit_start(run.started)
        resumed = ev.Resumed(version=__version__, overrides=limits.overrides)
        run = _record(session, run, "resumed", resumed, watcher)
        if limits.refused:
            return _record(session, run, "refused", ev.Interrupted(reason=limits.refused), watcher)
        run = replace(run, started=limits.started)
        return await drive_run(session, run, workshop, watcher, lease)


def _record(session: Session, run: Run, key: str, event: ev.AnyEvent, watcher: Watcher) -> Run:
    entry = session.store.append(run.id, "signal", f"{key} {run.seq}", event, time.time())
    run = fold(run, entry)
    watcher.handle_event(entry, run)
    return run


async def require_commits(session: Session, run: Run, workshop: Workshop) -> None:
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
    """Drive a run that this process has the lease of. A stop is recorded also if it comes before
    the engine is at work, which records its own.
    """
    try:
        return await _drive(session, run, workshop, watcher, lease)
    except asyncio.CancelledError as stop:
        now = fold_entries(run.id, session.store.read(run.id))
        if not (has_ended(now) or now.waits or now.paused or lease.lost):
            reason = str(stop) or "stopped by a person or a signal"
            _record(session, now, "interrupted", ev.Interrupted(reason=reason), watcher)
        raise


async def _drive(
    session: Session, run: Run, workshop: Workshop, watcher: Watcher, lease: Lease
) -> Run:
    started, store = limit_start(session, run), session.store
    name = started.workflow_name
    workflow = parse_workflow(started.workflow, name, f"{name} (as pinned by run {run.id})")
    folder = run_folder(session.home, run.id)
    place = await _meet_workers(session, run, workshop, lease) if session.source else None
    settings = decode_settings(started.settings).settings
    limits = settings.limits
    spending = open_spending(folder, limits.dollars, run.usage)
    own = OwnParts(folder=folder, spending=spending, watcher=watcher, place=place)
    world = await build_run_world(session, run, started, workshop, own)
    allowed = Limits(
        seconds=limits.time,
        dollars=limits.dollars,
        width=limits.width,
        budget=watch_budgets(session, run),
    )
    async with _open_helpers(session, run, spending, limits.spread) as helpers:
        with trace_run(watcher, session.settings().settings.traces, run.id) as watching:
            engine = Engine(workflow, world, store, allowed, watching)
            engine.helpers = helpers
            with tell_remarks(tell_in_loop(watcher)):
                run = await drive_until_stopped(session.state.stops, lease, engine.drive, run)
    if not settings.keep.local:
        _remove_kept_files(run, folder)
    return remove_agent_homes(run, folder)


async def build_run_world(
    session: Session, run: Run, started: ev.Started, workshop: Workshop, own: OwnParts
) -> World:
    """Return the world of a run; from now on there are local copies of the files that it needs.
    Raise SettingsError if the run requires a sandbox that this machine does not have.
    """
    check_sandbox_settings(decode_settings(started.settings))
    watcher = own.watcher
    artifacts = session.artifacts(run.id, tell_in_loop(watcher) if watcher else lambda text: None)
    artifacts.pin(run.pins)
    for file in wiring.list_needed(run):
        await asyncio.to_thread(artifacts.read, file)
    return wiring.build_world(
        sign_for(run, workshop),
        run,
        started,
        session.store,
        RunFiles(own.folder, artifacts),
        watcher.handle_output if watcher else lambda label, piece: None,
        own_agents=session.own_agents,
        flags=session.flags,
        place=own.place,
        spending=own.spending,
    )


def _open_helpers(
    session: Session, run: Run, spending: Spending, most: int
) -> AbstractAsyncContextManager[Helpers | None]:
    """Return the other workers that may do single actions of the run, if it has some."""
    units = session.state.units if most and session.worker else None
    if units is None:
        return nullcontext()
    from punchlist.app.fleet.spread import SpreadActions
    from punchlist.ports.fleet.units import Taker

    room = Room(repository=session.settings().settings.fleet.per_repository)
    driver = Taker(worker=session.worker, version=__version__, room=room)
    return SpreadActions(units, run.id, driver, spending, most=most)


async def _meet_workers(
    session: Session, run: Run, workshop: Workshop, lease: Lease
) -> "MeetingPlace":
    """Bring what other workers committed; return where they find what this one commits."""
    from punchlist.adapters.fleet.shared_repository import MeetingPlace

    await bring_commits(session, run, workshop)  # again: only now no other worker pushes
    return MeetingPlace(session.source, lease.confirm)


async def bring_commits(session: Session, run: Run, workshop: Workshop) -> None:
    """Fetch what other workers committed of the run."""
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
            if is_folder(path):
                remove_folder(path)
