"""The reports of a run, by name, and their formats as surfaces offer them."""

from punchlist.adapters.reports import REPORTS, WRITTEN
from punchlist.app.session import Session
from punchlist.model.ledger.run import Run

OFFERED = tuple(REPORTS.values())
"""The reports that users can ask for."""
FORMATS = tuple(report.name for report in OFFERED)
REPORT_NAMES = tuple(WRITTEN)
_TYPES = {report.file.rpartition(".")[2]: report.content_type for report in WRITTEN.values()}
CONTENT_TYPES = frozenset(_TYPES.values())


def content_type(file: str) -> str:
    """Return the content type of a file by its suffix, or '' if no report has that suffix."""
    return _TYPES.get(file.rpartition(".")[2], "")


def find_report(form: str) -> str | None:
    """Return the name of the report of that format ("md", "json", ...) or file name."""
    for name in REPORT_NAMES:
        if form in (name, name.removeprefix("report.").split(".")[0]):
            return name
    return None


def render_report(run: Run, name: str) -> bytes:
    """Render a report from REPORT_NAMES; a large run takes seconds."""
    return WRITTEN[name](run)


def render_run(session: Session, run_id: str, form: str) -> bytes:
    """Render the report in one of FORMATS."""
    return next(report for report in OFFERED if report.name == form)(session.load(run_id))
