"""The exit code of a run, and the document behind --json."""

from msgspec import Struct

from punchlist.app.after.branch_state import APPLIED
from punchlist.cli.exit_codes import Exit
from punchlist.model.item.item import Status
from punchlist.model.ledger.outcome import RunOutcome, holds_back, run_outcome
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import ReportDocument, make_report
from punchlist.views.run_state import State, find_state

_EXITS = {
    RunOutcome.CLEAN: Exit.FINE,
    RunOutcome.NOTHING_FOUND: Exit.FINE,
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
    unapplied: bool
    """Fixes are on the run's branch, and the code under review does not have them."""
    files: tuple[str, ...]
    report: ReportDocument


def make_document(
    run: Run, *, driven: bool = False, queued: bool = False, check: bool = False, standing: str = ""
) -> RunDocument:
    """`driven`: a process drives the run; `queued`: it waits for a worker. `standing`: what became
    of its fixes.
    """
    return RunDocument(
        run=run.id,
        state=find_state(run, driven=driven, queued=queued),
        exit=int(exit_code(run, check=check, standing=standing)),
        unapplied=is_unapplied(run, standing),
        files=run.filing.artifacts,
        report=make_report(run),
    )


def is_unapplied(run: Run, standing: str = "") -> bool:
    """Return whether the run has fixes that the code under review lacks."""
    return bool(run.landing.landed) and standing != APPLIED


def _lacks_fixes(run: Run, standing: str) -> bool:
    """Return whether the code under review lacks fixes of items that are severe enough."""
    fixed = run.find_items(Status.FIXED)
    return is_unapplied(run, standing) and any(run.fails_gate(item) for item in fixed)


def exit_code(run: Run, *, check: bool = False, standing: str = "") -> Exit:
    """`check`: fixes that the code under review lacks have an exit code of their own."""
    if run.ended:
        code = _EXITS[run_outcome(run)]  # as of now: users may have dismissed items after the end
        if code is Exit.LEFT and not holds_back(run):
            code = Exit.FINE
        unapplied = check and code is Exit.FINE and _lacks_fixes(run, standing)
        return Exit.UNAPPLIED if unapplied else code
    if run.waits:
        return Exit.WAITING
    return Exit.INTERRUPTED if run.interrupted else Exit.INCOMPLETE
