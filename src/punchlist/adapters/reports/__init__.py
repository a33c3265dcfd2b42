"""Reports of a run: one module per format, each a pure function of the run."""

from collections import ChainMap
from collections.abc import Callable

from msgspec import Struct

from punchlist.adapters.reports import fix_report as cycles
from punchlist.adapters.reports import github, gitlab, html, junit, markdown, rdjson, sarif
from punchlist.adapters.reports import json as document
from punchlist.adapters.reports.redact import redact_run
from punchlist.model.ledger.run import Run


class ReportFormat(Struct, frozen=True):
    """`name`: what users choose it by; `file`: the name it is written as."""

    name: str
    file: str
    content_type: str
    title: str
    render: Callable[[Run], bytes]

    def __call__(self, run: Run) -> bytes:
        """Return the report for people and other programs: without secrets."""
        return self.render(redact_run(run))


_MD, _JSON = "text/markdown", "application/json"
_ALWAYS = (
    ReportFormat("md", "report.md", _MD, "Markdown", markdown.render),
    ReportFormat("json", "report.json", _JSON, "JSON", document.render),
    ReportFormat("sarif", "report.sarif", "application/sarif+json", "SARIF", sarif.render),
    ReportFormat("junit", "report.junit.xml", "application/xml", "JUnit XML", junit.render),
    ReportFormat("html", "report.html", "text/html", "HTML page", html.render),
)
_CYCLES = (
    ReportFormat("cycles.md", "cycles.md", _MD, "Cycles", cycles.render_markdown),
    ReportFormat("cycles.json", "cycles.json", _JSON, "Cycles, JSON", cycles.render_json),
)
_ON_DEMAND = (
    ReportFormat("github", "report.github", "text/plain", "GitHub annotations", github.render),
    ReportFormat("gitlab", "report.gitlab", _JSON, "GitLab code quality", gitlab.render),
    ReportFormat("rdjson", "report.rdjson", _JSON, "reviewdog", rdjson.render),
)
REPORTS = {report.file: report for report in _ALWAYS}
OCCASIONAL = {report.file: report for report in _CYCLES}
"""Empty, and not written, for a run without agents."""
ON_DEMAND = {report.file: report for report in _ON_DEMAND}
"""For the services of others; rendered when they are asked for, and not written."""
WRITTEN = ChainMap(OCCASIONAL, REPORTS)
"""What is written at the end of a run: REPORTS first."""
