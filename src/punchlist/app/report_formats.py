"""The formats of reports, as surfaces offer them; the table of reports declares them."""

from punchlist.adapters.reports import REPORTS, WRITTEN

OFFERED = tuple(REPORTS.values())
"""The reports that users can ask for."""
FORMATS = tuple(report.name for report in OFFERED)
_TYPES = {report.file.rpartition(".")[2]: report.content_type for report in WRITTEN.values()}
CONTENT_TYPES = frozenset(_TYPES.values())


def content_type(file: str) -> str:
    """Return the content type of a file by its suffix; empty if no report has that suffix."""
    return _TYPES.get(file.rpartition(".")[2], "")
