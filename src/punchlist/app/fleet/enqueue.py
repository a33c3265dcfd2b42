"""Put a prepared run into the fleet's queue."""

import os
import re
import time
from pathlib import Path

from msgspec import Struct

from punchlist.adapters.folders.look import resolve_path
from punchlist.app.drive.answers import has_ended
from punchlist.app.session import Session
from punchlist.app.start.request import Prepared
from punchlist.app.start.start import choose_run_id, make_started, require_agents
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run
from punchlist.model.patch.change import ScopeKind
from punchlist.ports.fleet.queue import Enqueued, Job, JobState, Priority, RunQueue

_LOGIN = re.compile(r"^(https?://)[^/@]*@")
"""Of a URL: the name and the password or token. A worker has logins of its own."""


class QueueOptions(Struct, frozen=True):
    """`label`: which workers may take the run, '' for all."""

    label: str = ""
    priority: Priority = Priority.RUN


def require_queue(session: Session) -> RunQueue:
    queue = session.state.queue
    if queue is None:
        raise UsageError(
            "there is no queue: the ledger is in SQLite, on this machine",
            hint="name a PostgreSQL database: punchlist --store postgresql://USER@HOST/NAME",
        )
    return queue


async def enqueue_run(session: Session, ready: Prepared, options: QueueOptions) -> Enqueued:
    """Queue a run; the queued one of the same branch and kind is superseded."""
    queue = require_queue(session)
    require_agents(ready)
    if ready.change.uncommitted:
        what = "Uncommitted work" if ready.change.on_disk else "Staged changes"
        raise UsageError(
            f"{what} cannot be queued: workers only get commits",
            hint="commit first, or run without --queue",
        )
    if ready.outside:
        raise UsageError(
            f"{', '.join(ready.outside)} fetches its tasks on this machine",
            hint="run without --queue",
        )
    run_id = ready.run_id or choose_run_id(session.state)
    started = await make_started(session, ready, session.artifacts(run_id))
    change = ready.change
    branch = ready.pull or ("" if change.kind is ScopeKind.COMMIT else change.branch)
    kind = (branch, change.kind, *change.paths, ready.workflow.name, started.story.id)
    job = Job(
        run=run_id,
        repository=started.identity or started.repository,
        branch=branch,
        source=session.source or await find_source(session, change.head),
        label=options.label,
        agents=tuple(dict.fromkeys(name for names in ready.crew.values() for name in names)),
        subject="\n".join(kind) if branch else "",
        priority=options.priority,
    )
    return queue.enqueue(job, started, time.time())


async def find_source(session: Session, commit: str) -> str:
    """Return where workers fetch the commit: the remote `origin` if it has it, else this clone."""
    checkout = session.required_checkout
    pushed = await checkout.git.run(
        "for-each-ref", "--count=1", "--contains", commit, "refs/remotes/origin"
    )
    url = await checkout.user_git.find_line("remote", "get-url", "origin")
    if not (pushed.ok and pushed.stdout.strip() and url):
        return str(checkout.git_dir)
    path = Path(checkout.root, os.path.expanduser(url))  # noqa: PTH111 - a URL must stay one
    there = os.path.exists(path)  # noqa: PTH110 - False, too, for what this user cannot look at
    return str(resolve_path(path)) if there else _LOGIN.sub(r"\1", url)


def hand_back(session: Session, run: Run) -> bool:
    """Let workers go on with a run that waited in their hands; return whether it did."""
    queue = session.state.queue
    job = queue.find(run.id) if queue is not None else None
    if queue is None or job is None or job.state is not JobState.WAITING:
        return False
    return queue.requeue(run.id, Priority.INTERRUPTED)


def requeue_run(session: Session, run: Run) -> None:
    """Let workers go on with a run that they had. Raise UsageError if they cannot."""
    queue = require_queue(session)
    if has_ended(run):
        raise UsageError(f"run {run.id} has ended", hint=f"punchlist status {run.id}")
    if not queue.requeue(run.id, Priority.INTERRUPTED):
        job = queue.find(run.id)
        what = f"is {job.state} already" if job else "was never in the queue"
        raise UsageError(f"run {run.id} {what}", hint="`punchlist queue` shows the queue")
