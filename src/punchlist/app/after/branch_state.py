"""What became of a run's fixes, as git has it: on their branch still, applied, or discarded."""

from collections.abc import Sequence

from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.repository import PREFIX, GitRepository
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.adapters.store.sqlite import SqliteStore
from punchlist.app.drive.run_cache import read_start
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Published
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RunRow
from punchlist.model.patch.change import Change, ScopeKind

APPLIED = "applied"
DISCARDED = "discarded"


def published(store: SqliteStore, repository: str) -> dict[str, str]:
    """By run: the tip of its branch, as the user's repository got it last."""
    entries = store.of_kind("published", repository)
    return {
        entry.run: entry.event.tip
        for entry in entries
        if isinstance(entry.event, Published) and not entry.event.failed
    }


def change_of(store: SqliteStore, run: str) -> Change | None:
    started = read_start(store, run)
    return started.change if started is not None else None


async def standing(checkout: Checkout, branch: str, tip: str, change: Change | None) -> str:
    """APPLIED, DISCARDED, or nothing: the branch waits, or there never was one. Applied counts even
    where the branch is gone.
    """
    if not tip:
        return ""
    if await checkout.git.has("merge-base", "--is-ancestor", tip, "HEAD") or await _squashed(
        checkout, branch, tip
    ):
        return APPLIED
    there, _ = await checkout.holds(branch)
    if (
        change is not None
        and change.kind is ScopeKind.STAGED
        and await _staged(checkout, change.head, tip)
    ):
        return APPLIED
    return "" if there else DISCARDED


def nothing_landed(run: Run) -> UsageError:
    if not run.ended:
        return UsageError(
            f"no fix of run {run.id} has landed yet", hint=f"punchlist resume {run.id}"
        )
    return UsageError(
        f"run {run.id} landed no fix, so there is nothing to apply", hint=f"punchlist show {run.id}"
    )


async def was_discarded(run: Run, checkout: Checkout) -> UsageError:
    """Git keeps commits without a branch for a while."""
    kept = await checkout.commit(run.landing.published) is not None
    back = (
        f"git branch {run.landing.branch} {run.landing.published[:12]}, then try again"
        if kept
        else "punchlist run makes the fixes anew"
    )
    return UsageError(f"run {run.id} was discarded: its branch is gone", hint=back)


async def _squashed(checkout: Checkout, branch: str, tip: str) -> bool:
    """Whether the one commit that `apply --squash` makes is among what came since."""
    ran = await checkout.git.ran(
        "log", "-1", "--format=%H", f"--grep=^Apply {branch}$", f"{tip}..HEAD"
    )
    return ran.ok and bool(ran.stdout.strip())


async def _staged(checkout: Checkout, head: str, tip: str) -> bool:
    """Whether the index and the files have what the fixes change; then it can be
    taken out of them.
    """
    patch = await checkout.git.ran(
        "diff-tree", "-p", "--binary", "--full-index", "--no-renames", head, tip
    )
    return (
        patch.ok
        and (
            await checkout.theirs.ran(
                "apply", "--index", "--reverse", "--check", stdin=patch.stdout
            )
        ).ok
    )


async def standing_of(session: Session, run: Run) -> str:
    """What became of a run's fixes: applied, discarded, or nothing (yet)."""
    if session.checkout is None or run.started.repository != session.repository:
        return ""
    return await standing(
        session.checkout, run.landing.branch, run.landing.published, run.started.change
    )


async def standings_of(session: Session, rows: Sequence[RunRow]) -> dict[str, str]:
    """The same of many runs, of this repository."""
    if session.checkout is None:
        return {}
    tips = published(session.store, session.repository)
    landed = [row.id for row in rows if row.id in tips]
    return {
        run: await standing(
            session.checkout, f"{PREFIX}{run}", tips[run], change_of(session.store, run)
        )
        for run in landed
    }


async def landed_diff(session: Session, run: Run) -> str:
    """All fixes of the run as a unified diff against what was reviewed; empty
    where nothing landed.
    """
    if session.checkout is None or run.landing.tip in ("", run.started.change.head):
        return ""
    workshop = await session.workshop()
    return await GitRepository(workshop, WorkTrees(workshop), when=0).diff(
        run.started.change.head, run.landing.tip
    )
