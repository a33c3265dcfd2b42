"""What landed in a run, as git shows it."""

from punchlist.adapters.git.repository import GitRepository
from punchlist.adapters.git.workshop import Workshop
from punchlist.adapters.git.worktrees import WorkTrees
from punchlist.app.app import App
from punchlist.model.ledger.run import Run


async def landed_diff(app: App, run: Run) -> str:
    """All fixes of the run as a unified diff against what was reviewed; empty
    where nothing landed.
    """
    if app.checkout is None or run.landing.tip in ("", run.started.change.head):
        return ""
    workshop = await Workshop.open(app.checkout, app.home)
    return await GitRepository(workshop, WorkTrees(workshop), when=0).diff(
        run.started.change.head, run.landing.tip
    )
