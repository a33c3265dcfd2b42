"""State of a run's fixes in git: on their branch, applied, or discarded."""

from collections.abc import Sequence

from punchlist.adapters.git.apply import PATCH
from punchlist.adapters.git.checkout import Checkout
from punchlist.adapters.git.repository import PREFIX, GitRepository
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.drive.run_cache import read_start
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.events import Published, Started
from punchlist.model.ledger.run import Run
from punchlist.model.ledger.run_row import RepositoryKey, RunRow
from punchlist.model.patch.change import Change
from punchlist.ports.store import Ledgers

APPLIED = "applied"
DISCARDED = "discarded"


def load_tips(store: Ledgers, repository: RepositoryKey) -> dict[str, str]:
    """Return the last published tip of each run's branch, by run."""
    return {
        entry.run: entry.event.tip
        for entry in store.read_kind("published", repository.path, repository.identity)
        if isinstance(entry.event, Published) and not entry.event.failed
    }


async def find_standing(checkout: Checkout, started: Started | None, run: str, tip: str) -> str:
    """Return APPLIED (also if the branch is gone), DISCARDED, or '' (it waits, never was, or is in
    another clone).
    """
    if not tip:
        return ""
    branch, change = f"{PREFIX}{run}", started.change if started else None
    applied = await checkout.git.is_ancestor(tip, "HEAD")
    if applied or await _is_squashed(checkout, branch, tip):
        return APPLIED
    there, _ = await checkout.locate_branch(branch)
    if change is not None and await _is_in_files(checkout, change, tip):
        return APPLIED
    if there or (started and await _is_elsewhere(checkout, started, tip)):
        return ""
    return DISCARDED


async def _is_elsewhere(checkout: Checkout, started: Started, tip: str) -> bool:
    """Return whether the branch is in another clone, and never was in this one."""
    own = started.repository == str(checkout.git_dir)
    return not own and await checkout.resolve_commit(tip) is None


def no_fix_error(run: Run) -> UsageError:
    name = run.id
    if not run.ended:
        return UsageError(f"no fix of run {name} has landed yet", hint=f"punchlist resume {name}")
    return UsageError(
        f"run {name} landed no fix, so there is nothing to apply", hint=f"punchlist show {name}"
    )


async def discarded_error(run: Run, checkout: Checkout) -> UsageError:
    """Return the error; it names the commit while git keeps it."""
    branch, tip = run.landing.branch, run.landing.published
    hint = "`punchlist run` makes the fixes anew"
    if await checkout.resolve_commit(tip) is not None:
        hint = f"git branch {branch} {tip[:12]}, then try again"
    return UsageError(f"run {run.id} was discarded: its branch is gone", hint=hint)


async def _is_squashed(checkout: Checkout, branch: str, tip: str) -> bool:
    """Return whether HEAD has the commit that `apply --squash` makes."""
    ran = await checkout.git.run(
        "log", "-1", "--format=%H", f"--grep=^Apply {branch}$", f"{tip}..HEAD"
    )
    return ran.ok and bool(ran.stdout.strip())


async def _is_in_files(checkout: Checkout, change: Change, tip: str) -> bool:
    """Return whether the files, and the index if it was under review, contain the fixes of work
    that was not committed: they can be reverse-applied.
    """
    if not change.uncommitted:
        return False
    index = () if change.on_disk else ("--index",)
    patch = await checkout.git.run(*PATCH, change.head, tip)
    reverse = ("apply", *index, "--reverse", "--check")
    return patch.ok and (await checkout.user_git.run(*reverse, stdin=patch.stdout)).ok


async def standing_of(session: Session, run: Run) -> str:
    """Return what became of a run's fixes; '' if it is about another repository."""
    if session.checkout is None or not session.owns(run):
        return ""
    return await find_standing(session.checkout, run.started, run.id, run.landing.published)


async def standings_of(session: Session, rows: Sequence[RunRow]) -> dict[str, str]:
    """Return the same for the runs that published fixes, by run."""
    if session.checkout is None:
        return {}
    tips = load_tips(session.store, session.key)
    found = {}
    for run in (row.id for row in rows if row.id in tips):
        started = read_start(session.store, run)
        found[run] = await find_standing(session.checkout, started, run, tips[run])
    return found


async def load_diff(session: Session, run: Run) -> str:
    """Return all landed fixes as a unified diff against the reviewed commit, or ''."""
    head, tip = run.started.change.head, run.landing.tip
    if session.checkout is None or tip in ("", head):
        return ""
    workshop = await session.workshop()
    return await GitRepository(workshop, WorkTrees(workshop), when=0).diff(head, tip)
