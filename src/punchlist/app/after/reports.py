"""The reports of a run, by name, and their formats as surfaces offer them."""

from punchlist.adapters.process.browser import open_browser
from punchlist.adapters.reports import OCCASIONAL, ON_DEMAND, REPORTS, WRITTEN
from punchlist.app.session import Session
from punchlist.errors import UsageError
from punchlist.model.ledger.run import Run

OFFERED = tuple(REPORTS.values())
"""The reports that every run has."""
_BY_NAME = {report.name: report for report in (*OFFERED, *ON_DEMAND.values(), *OCCASIONAL.values())}
FORMATS = tuple(_BY_NAME)
"""The names of all reports that users can ask for."""
REPORT_NAMES = tuple(WRITTEN)
_RENDERED = {**WRITTEN, **ON_DEMAND}
_TYPES = {report.file.rpartition(".")[2]: report.content_type for report in _RENDERED.values()}
CONTENT_TYPES = frozenset(_TYPES.values())


def content_type(file: str) -> str:
    """Return the content type of a file by its suffix, or '' if no report has that suffix."""
    return _TYPES.get(file.rpartition(".")[2], "")


def find_report(form: str) -> str | None:
    """Return the name of the report of that format ("md", "json", ...) or file name."""
    for name in _RENDERED:
        if form in (name, name.removeprefix("report.").split(".")[0]):
            return name
    return None


def render_report(run: Run, name: str) -> bytes:
    """Render a report by its file name; a large run takes seconds."""
    return _RENDERED[name](run)


def render_format(run: Run, form: str) -> bytes:
    """Render the report in one of FORMATS; it may be empty."""
    return _BY_NAME[form](run)


def render_run(session: Session, run_id: str, form: str) -> bytes:
    """Render the report in one of FORMATS. Raise UsageError if the run has none of it."""
    run = session.load(run_id)
    content = render_format(run, form)
    if not content and form in {report.name for report in OCCASIONAL.values()}:
        none = f"run {run.id} has no {form}: no agent was to fix anything"
        raise UsageError(none, hint=f"punchlist report {run.id}")
    return content


def open_page(address: str) -> bool:
    """Open an address in the user's browser; return whether there is one."""
    return open_browser(address)
