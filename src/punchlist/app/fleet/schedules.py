"""Queue runs by the clock: a worker prepares the run of a schedule when it is due."""

import re

from msgspec.structs import replace

from punchlist.adapters.fleet.mirrors import find_head
from punchlist.adapters.git.checkout import Checkout
from punchlist.app.drive.run_cache import read_start
from punchlist.app.fleet.enqueue import QueueOptions, enqueue_run, find_source
from punchlist.app.fleet.floor import require_offered
from punchlist.app.fleet.worker_session import WorkerSession, Workplace
from punchlist.app.session import Session
from punchlist.app.start.prepare import prepare_run
from punchlist.app.start.request import Request
from punchlist.app.start.start import choose_run_id
from punchlist.errors import RepositoryError, UsageError
from punchlist.model.ledger.run_row import RepositoryKey
from punchlist.model.patch.change import ScopeKind
from punchlist.ports.fleet.queue import Priority
from punchlist.ports.fleet.schedule import Schedule, Tick
from punchlist.ports.serving.records import KeyRecord

_SECRET = re.compile(r"agent\.[^.]+\.env\b")


async def make_schedule(session: Session, schedule: Schedule) -> Schedule:
    """Return the schedule with the repository around the session. Raise UsageError."""
    if secret := next((key for key in schedule.settings if _SECRET.match(key)), ""):
        raise UsageError(
            f"{secret}: variables of agents may be secrets, and are not stored with a schedule",
            hint="set them in the settings of the workers",
        )
    checkout = session.required_checkout
    names = await checkout.find_main_branch()
    branch = schedule.branch or (names[-1].removeprefix("origin/") if names else "")
    commit = await checkout.resolve_commit(f"refs/heads/{branch}") if branch else None
    remote = await checkout.resolve_commit(f"refs/remotes/origin/{branch}") if branch else None
    if commit is None and remote is None:
        raise UsageError(f'there is no branch "{branch}"', hint="name one with --branch")
    source = await find_source(session, remote or commit or "")
    key = session.key
    return replace(
        schedule, repository=key.path, identity=key.identity or "", source=source, branch=branch
    )


async def queue_scheduled(tick: Tick, at: Workplace) -> str:
    """Queue a run of the branch as it is now, once for each time that is due; return its id. Raise
    SettingsError for settings that are not the schedule's to make on a worker.
    """
    schedule, state, home = tick.schedule, at.state, at.home
    require_offered(schedule.settings, at.flags)
    run = state.keys.claim(tick.key, KeyRecord("schedule", choose_run_id(state))).run
    if read_start(state.store, run) is not None:  # the worker that queued it died afterwards
        return run
    head = await find_head(home, schedule.source, schedule.branch)
    if not head:
        raise RepositoryError(f"{schedule.source}: has no branch {schedule.branch}")
    async with at.mirrors.open_mirror(schedule.source, (head,), at_head=True) as folder:
        checkout = await Checkout.find(folder)
        key = RepositoryKey(schedule.repository, schedule.identity or checkout.identity)
        session = WorkerSession(home, checkout, key, shared=state, artifacts=at.artifacts)
        session.source = schedule.source
        session.flags = {**at.flags, **schedule.settings}
        request = Request(
            kind=ScopeKind.ALL,
            committed=True,
            workflow=schedule.workflow,
            allow_checks=schedule.allow_checks,
        )
        ready = await prepare_run(session, request)
        change = replace(ready.change, branch=schedule.branch)
        ready = replace(ready, change=change, run_id=run)
        options = QueueOptions(label=schedule.label, priority=Priority.NIGHTLY)
        return (await enqueue_run(session, ready, options)).entry.run
