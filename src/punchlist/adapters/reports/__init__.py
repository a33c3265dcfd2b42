"""What becomes of a run on paper: one module per format, each a function of the run alone."""

from collections import ChainMap
from collections.abc import Callable

from msgspec import Struct

from punchlist.adapters.reports import fix_report as cycles
from punchlist.adapters.reports import html, junit, markdown, sarif
from punchlist.adapters.reports import json as document
from punchlist.model.ledger.run import Run


class Report(Struct, frozen=True):
    """`name` is what users choose it by, `file` what it is written as."""

    name: str
    file: str
    content_type: str
    title: str
    render: Callable[[Run], bytes]

    def __call__(self, run: Run) -> bytes:
        return self.render(run)


REPORTS: dict[str, Report] = {
    report.file: report
    for report in (
        Report("md", "report.md", "text/markdown", "Markdown", markdown.render),
        Report("json", "report.json", "application/json", "JSON", document.render),
        Report("sarif", "report.sarif", "application/sarif+json", "SARIF", sarif.render),
        Report("junit", "report.junit.xml", "application/xml", "JUnit XML", junit.render),
        Report("html", "report.html", "text/html", "HTML page", html.render),
    )
}
OCCASIONAL: dict[str, Report] = {
    report.file: report
    for report in (
        Report("cycles.md", "cycles.md", "text/markdown", "Cycles", cycles.markdown),
        Report("cycles.json", "cycles.json", "application/json", "Cycles, JSON", cycles.document),
    )
}
"""Made only of runs that have something of the kind to tell; of others they are empty, and are not
written.
"""
WRITTEN = ChainMap(OCCASIONAL, REPORTS)
"""What is written at the end of a run: REPORTS first."""
