"""One line of a list of runs, as every surface shows it."""

from msgspec import Struct

from punchlist.model.ledger.run_row import RunRow
from punchlist.views.run_state import State, describe_state, find_state


class RunLine(Struct, frozen=True, kw_only=True):
    id: str
    repository: str
    workflow: str
    state: State
    outcome: str
    """As of now: what it ended with, unless people dismissed something since."""
    standing: str
    """What became of its fixes: applied, discarded, or nothing yet."""
    started_at: float
    last_at: float
    seconds: float
    entries: int

    @property
    def result(self) -> str:
        """The outcome or the state, and what became of the fixes, in words."""
        return ", ".join(filter(None, (describe_state(self.state, self.outcome), self.standing)))


def build_run_line(
    row: RunRow, *, driven: bool, outcome: str, workflow: str = "", standing: str = ""
) -> RunLine:
    """Return the line of a row; `driven`: a process drives the run at this moment."""
    return RunLine(
        id=row.id,
        repository=row.repository,
        workflow=workflow,
        state=find_state(row, driven=driven),
        outcome=outcome,
        standing=standing,
        started_at=row.started_at,
        last_at=row.last_at,
        seconds=round(row.active, 3),
        entries=row.entries,
    )
