"""Reports of a run: one module per format, each a pure function of the run."""

from collections import ChainMap
from collections.abc import Callable

from msgspec import Struct

from punchlist.adapters.reports import fix_report as cycles
from punchlist.adapters.reports import html, junit, markdown, sarif
from punchlist.adapters.reports import json as document
from punchlist.model.ledger.run import Run


class ReportFormat(Struct, frozen=True):
    """`name`: what users choose it by; `file`: the name it is written as."""

    name: str
    file: str
    content_type: str
    title: str
    render: Callable[[Run], bytes]

    def __call__(self, run: Run) -> bytes:
        return self.render(run)


REPORTS: dict[str, ReportFormat] = {
    report.file: report
    for report in (
        ReportFormat("md", "report.md", "text/markdown", "Markdown", markdown.render),
        ReportFormat("json", "report.json", "application/json", "JSON", document.render),
        ReportFormat("sarif", "report.sarif", "application/sarif+json", "SARIF", sarif.render),
        ReportFormat("junit", "report.junit.xml", "application/xml", "JUnit XML", junit.render),
        ReportFormat("html", "report.html", "text/html", "HTML page", html.render),
    )
}
OCCASIONAL: dict[str, ReportFormat] = {
    report.file: report
    for report in (
        ReportFormat("cycles.md", "cycles.md", "text/markdown", "Cycles", cycles.render_markdown),
        ReportFormat(
            "cycles.json", "cycles.json", "application/json", "Cycles, JSON", cycles.render_json
        ),
    )
}
"""Made only of runs that have something of the kind to tell; of others they are empty, and are not
written.
"""
WRITTEN = ChainMap(OCCASIONAL, REPORTS)
"""What is written at the end of a run: REPORTS first."""
