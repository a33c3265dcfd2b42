"""A run as commands answer with it: its exit code, and the document behind --json."""

from msgspec import Struct

from punchlist.cli.exit_codes import Exit
from punchlist.model.ledger.outcome import Outcome, outcome
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import Report, report
from punchlist.views.run_state import State, find_state

_EXITS = {
    Outcome.CLEAN: Exit.FINE,
    Outcome.FIXED: Exit.FINE,
    Outcome.DISMISSED: Exit.FINE,
    Outcome.LEFTOVERS: Exit.LEFT,
    Outcome.INCOMPLETE: Exit.INCOMPLETE,
}


class RunDocument(Struct, frozen=True, kw_only=True):
    """What --json prints of a run. `report` is what `punchlist report --format json` prints."""

    run: str
    state: State
    exit: int
    files: tuple[str, ...]
    report: Report


def document(run: Run, *, driven: bool = False) -> RunDocument:
    """`driven`: a process is at work on it."""
    state = find_state(run, driven=driven)
    return RunDocument(
        run=run.id,
        state=state,
        exit=int(exit_of(run)),
        files=run.filing.artifacts,
        report=report(run),
    )


def exit_of(run: Run) -> Exit:
    if run.ended:
        return _EXITS[
            outcome(run)
        ]  # as it stands: people may have dismissed what was left when it ended
    if run.waits:
        return Exit.WAITING
    return Exit.INTERRUPTED if run.interrupted else Exit.INCOMPLETE
