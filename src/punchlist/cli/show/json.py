"""The exit code of a run, and the document behind --json."""

from msgspec import Struct

from punchlist.cli.exit_codes import Exit
from punchlist.model.ledger.outcome import RunOutcome, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import ReportDocument, make_report
from punchlist.views.run_state import State, find_state

_EXITS = {
    RunOutcome.CLEAN: Exit.FINE,
    RunOutcome.FIXED: Exit.FINE,
    RunOutcome.DISMISSED: Exit.FINE,
    RunOutcome.LEFTOVERS: Exit.LEFT,
    RunOutcome.INCOMPLETE: Exit.INCOMPLETE,
}


class RunDocument(Struct, frozen=True, kw_only=True):
    """The --json output of a run. `report` is that of `punchlist report --format json`."""

    run: str
    state: State
    exit: int
    files: tuple[str, ...]
    report: ReportDocument


def make_document(run: Run, *, driven: bool = False) -> RunDocument:
    """`driven`: a process drives the run."""
    return RunDocument(
        run=run.id,
        state=find_state(run, driven=driven),
        exit=int(exit_code(run)),
        files=run.filing.artifacts,
        report=make_report(run),
    )


def exit_code(run: Run) -> Exit:
    if run.ended:
        return _EXITS[run_outcome(run)]  # as of now: users may have dismissed items after the end
    if run.waits:
        return Exit.WAITING
    return Exit.INTERRUPTED if run.interrupted else Exit.INCOMPLETE
