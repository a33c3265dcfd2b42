"""Snapshot of a run: all that the screen shows, computed in a thread."""

from msgspec import Struct

from punchlist.app.drive.background import ActiveAction
from punchlist.model.ledger.run import Run
from punchlist.steps import Action
from punchlist.views.run_state import State
from punchlist.views.summary import Summary


class Snapshot(Struct, frozen=True, kw_only=True):
    run: Run
    summary: Summary
    state: State
    tally: dict[str, int]
    driver: str = ""
    """The process that drives it, in words, or empty."""
    here: bool = False
    """Whether this process drives it."""
    begun: tuple[ActiveAction, ...] = ()
    due: tuple[Action, ...] = ()
    """What the ledger says is next, if another process or none drives it."""
    more_due: int = 0
    trouble: str = ""
    """Why this process stopped driving it, or cannot read it."""

    @property
    def face(self) -> tuple[object, ...]:
        """Equal for two snapshots that look the same."""
        return (self.run.seq, self.state, self.driver, self.begun, self.trouble)
