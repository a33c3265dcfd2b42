"""Merge a run's fixes into the user's branch, or drop them."""

from punchlist.adapters.git.apply import BranchApplier
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.store.lease import Lease
from punchlist.app.after.branch_state import DISCARDED, discarded_error, no_fix_error, standing_of
from punchlist.app.session import Session
from punchlist.model.patch.change import ScopeKind


async def apply_branch(session: Session, run_id: str, *, squash: bool = False) -> str:
    """Merge a run's branch; the only use case that changes the user's checkout."""
    run = session.load(run_id)
    workshop = await session.workshop()
    if not run.landing.landed:
        raise no_fix_error(run)
    discarded = await standing_of(session, run) == DISCARDED
    if discarded and await workshop.find_tip(run.landing.branch) is None:
        raise await discarded_error(run, workshop.checkout)
    applier = BranchApplier(workshop, WorkTrees(workshop))
    branch, change = run.landing.branch, run.started.change
    if change.kind is ScopeKind.STAGED:
        applied = await applier.apply_staged(branch, change.head)
    else:
        applied = await applier.apply(branch, squash=squash)
    if applied.how == "already":
        return f"{branch} is part of your branch already"
    files = "1 file" if len(applied.files) == 1 else f"{len(applied.files)} files"
    return f"{branch} applied ({applied.how}): {files} at {applied.commit[:10]}"


async def discard_branch(session: Session, run_id: str, *, force: bool = False) -> str:
    run = session.load(run_id)
    workshop = await session.workshop()
    applier, branch = BranchApplier(workshop, WorkTrees(workshop)), run.landing.branch
    with Lease.acquire(session.home, run.id):
        existed = await applier.discard(branch, force=force)
    if not existed:
        return f"run {run.id} has no branch"
    return f"{branch} is gone; the ledger of run {run.id} stays"
