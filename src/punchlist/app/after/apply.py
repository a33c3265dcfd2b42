"""Merges a run's fixes into the user's branch, or drops them."""

from punchlist.adapters.git.apply import BranchApplier
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.store.lease import Lease
from punchlist.app.after.branch_state import DISCARDED, discarded_error, no_fix_error, standing_of
from punchlist.app.session import Session
from punchlist.model.patch.change import ScopeKind


async def apply_branch(session: Session, run_id: str, *, squash: bool = False) -> str:
    """Brings a run's branch home; the only thing that changes the user's checkout."""
    run = session.load(run_id)
    workshop = await session.workshop()
    if not run.landing.landed:
        raise no_fix_error(run)
    if (
        await standing_of(session, run) == DISCARDED
        and await workshop.find_tip(run.landing.branch) is None
    ):
        raise await discarded_error(run, workshop.checkout)
    home = BranchApplier(workshop, WorkTrees(workshop))
    change = run.started.change if run.started else None
    if change is not None and change.kind is ScopeKind.STAGED:
        applied = await home.apply_staged(run.landing.branch, change.head)
    else:
        applied = await home.apply(run.landing.branch, squash=squash)
    if applied.how == "already":
        return f"{run.landing.branch} is part of your branch already"
    files = "1 file" if len(applied.files) == 1 else f"{len(applied.files)} files"
    return f"{run.landing.branch} applied ({applied.how}): {files} at {applied.commit[:10]}"


async def discard_branch(session: Session, run_id: str, *, force: bool = False) -> str:
    run = session.load(run_id)
    workshop = await session.workshop()
    with Lease.acquire(session.home, run.id):
        there = await BranchApplier(workshop, WorkTrees(workshop)).discard(
            run.landing.branch, force=force
        )
    return (
        f"{run.landing.branch} is gone; the ledger of run {run.id} stays"
        if there
        else f"run {run.id} has no branch"
    )
