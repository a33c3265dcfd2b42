"""Snapshot of a run: all that the screen shows, computed in a thread."""

from msgspec import Struct

from punchlist.app.drive.background import ActiveAction
from punchlist.model.ledger.run import Run
from punchlist.steps import Action
from punchlist.views.run_state import State
from punchlist.views.summary import Summary


class Snapshot(Struct, frozen=True, kw_only=True):
    run: Run
    told: Summary
    state: State
    tally: dict[str, int]
    driver: str = ""
    """Who drives it, in words; empty if nobody does."""
    here: bool = False
    """Whether this process drives it."""
    begun: tuple[ActiveAction, ...] = ()
    due: tuple[Action, ...] = ()
    """What the ledger says is next, where nobody tells what has begun."""
    more_due: int = 0
    trouble: str = ""
    """Why this process does not drive it any more, or cannot read it."""

    @property
    def face(self) -> tuple[object, ...]:
        """Equal for two snapshots that look the same."""
        return (self.run.seq, self.state, self.driver, self.begun, self.trouble)
