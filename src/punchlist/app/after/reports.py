"""The reports of a run, by name."""

from punchlist.adapters.reports import REPORTS, WRITTEN
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run

REPORT_NAMES = tuple(WRITTEN)


def find_report(form: str) -> str | None:
    """Return the name of the report of that format ("md", "json", ...) or file name."""
    return next(
        (
            name
            for name in REPORT_NAMES
            if name == form or name.removeprefix("report.").split(".")[0] == form
        ),
        None,
    )


def match_report(form: str) -> str:
    """Return the name of the first report whose format begins with what the user typed."""
    name = next((name for name in REPORTS if name.removeprefix("report.").startswith(form)), None)
    if name is None:
        known = ", ".join(name.removeprefix("report.").split(".")[0] for name in REPORTS)
        raise UsageError(f'no report is called "{form}"', hint=f"there are {known}")
    return name


def render_report(run: Run, name: str) -> bytes:
    """Render a report from REPORT_NAMES; a large run takes seconds."""
    return WRITTEN[name](run)


def render_run(session: Session, run_id: str, form: str) -> bytes:
    name = match_report(form)
    return render_report(session.load(run_id), name)
