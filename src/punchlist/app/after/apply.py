"""Merge a run's fixes into the user's branch, or drop them."""

import asyncio
import time

from punchlist.adapters.git.apply import BranchApplier, ShownTips
from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.after.branch_state import DISCARDED, discarded_error, no_fix_error, standing_of
from punchlist.app.after.dismissals import rewrite_reports
from punchlist.app.drive.drive import sign_for
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.item.batch import CommitGrouping
from punchlist.model.ledger.commit_trailers import render_anchor
from punchlist.model.ledger.events import Published
from punchlist.model.ledger.fold import fold
from punchlist.model.ledger.run import Run
from punchlist.steps.support.arrange_commits import arrange_commits


async def apply_branch(
    session: Session, run_id: str, *, squash: bool = False, by: CommitGrouping | None = None
) -> str:
    """Merge a run's branch; the only use case that changes the user's checkout."""
    run = session.load(run_id)
    workshop = await session.workshop()
    if not run.landing.landed:
        raise no_fix_error(run)
    discarded = await standing_of(session, run) == DISCARDED
    if discarded and await workshop.find_tip(run.landing.branch) is None:
        raise await discarded_error(run, workshop.checkout)
    branch, change = run.landing.branch, run.started.change
    if by and (squash or change.uncommitted):
        what = "fixes of uncommitted work make no commit"
        why = "--squash makes one commit" if squash else what
        raise UsageError(f"{why}, so there is nothing to group", hint="leave out --by")
    if by:
        run = await _regroup_commits(session, run, workshop, by)
    applier = BranchApplier(workshop, WorkTrees(workshop))
    shown = _list_tips(run)
    if change.uncommitted:
        apply = applier.apply_to_files if change.on_disk else applier.apply_staged
        applied = await apply(branch, change.head, shown=shown)
    else:
        trailers = render_anchor(run.id, run.head)
        applied = await applier.apply(branch, squash=squash, shown=shown, trailers=trailers)
    if applied.how == "already":
        return f"{branch} is part of your branch already"
    files = "1 file" if len(applied.files) == 1 else f"{len(applied.files)} files"
    if change.on_disk:
        return f"{branch} applied to {files}: {', '.join(applied.files)} (nothing was committed)"
    return f"{branch} applied ({applied.how}): {files} at {applied.commit[:10]}"


def _list_tips(run: Run) -> ShownTips:
    landing = run.landing
    current = landing.arranged if landing.source == landing.tip else ""
    return ShownTips(current, landing.published)


async def _regroup_commits(
    session: Session, run: Run, workshop: Workshop, by: CommitGrouping
) -> Run:
    """Show the run's commits in another grouping, and record which items are in each."""
    with session.state.leases.acquire(run.id):
        run = session.load(run.id)  # inside the lease: with what other processes recorded
        when, landing = int(run.started_at), run.landing
        workshop = sign_for(run, workshop)
        repository = GitRepository(workshop, WorkTrees(workshop), when=when)
        if landing.arranged and await repository.has_applied(landing.arranged):
            return run
        grouped = await arrange_commits(run, repository, by)
        await repository.publish(landing.branch, tip=grouped.tip, replaces=landing.published)
        event = Published(
            branch=landing.branch, tip=grouped.tip, source=landing.tip, commits=grouped.commits
        )
        key = f"grouping {run.seq}"
        run = fold(run, session.store.append(run.id, "people", key, event, time.time()))
        await asyncio.to_thread(rewrite_reports, session, run)
    return run


async def discard_branch(session: Session, run_id: str, *, force: bool = False) -> str:
    run = session.load(run_id)
    workshop = await session.workshop()
    applier, branch = BranchApplier(workshop, WorkTrees(workshop)), run.landing.branch
    with session.state.leases.acquire(run.id):
        existed = await applier.discard(branch, force=force, shown=_list_tips(run))
    if not existed:
        return f"run {run.id} has no branch"
    return f"{branch} is gone; the ledger of run {run.id} stays"
