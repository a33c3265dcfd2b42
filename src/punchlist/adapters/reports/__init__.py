"""Reports of a run: one module per format, each a pure function of the run."""

from collections import ChainMap
from collections.abc import Callable
from importlib import import_module
from typing import cast

from msgspec import Struct

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


def _render_with(module: str, function: str = "render") -> Callable[[Run], bytes]:
    """Return what renders with a function of a module here, which is imported when it is called."""

    def render(run: Run) -> bytes:
        found = getattr(import_module(f"{__name__}.{module}"), function)
        return cast("bytes", found(run))

    return render


_MD, _JSON = "text/markdown", "application/json"
_ALWAYS = (
    ReportFormat("md", "report.md", _MD, "Markdown", _render_with("markdown")),
    ReportFormat("json", "report.json", _JSON, "JSON", _render_with("json")),
    ReportFormat("sarif", "report.sarif", "application/sarif+json", "SARIF", _render_with("sarif")),
    ReportFormat(
        "junit", "report.junit.xml", "application/xml", "JUnit XML", _render_with("junit")
    ),
    ReportFormat("html", "report.html", "text/html", "HTML page", _render_with("html")),
)
_CYCLES = (
    ReportFormat(
        "cycles.md", "cycles.md", _MD, "Cycles", _render_with("fix_report", "render_markdown")
    ),
    ReportFormat(
        "cycles.json",
        "cycles.json",
        _JSON,
        "Cycles, JSON",
        _render_with("fix_report", "render_json"),
    ),
)
_ON_DEMAND = (
    ReportFormat(
        "github", "report.github", "text/plain", "GitHub annotations", _render_with("github")
    ),
    ReportFormat("gitlab", "report.gitlab", _JSON, "GitLab code quality", _render_with("gitlab")),
    ReportFormat(
        "gitlab-sast", "report.gitlab-sast", _JSON, "GitLab SAST", _render_with("gitlab_sast")
    ),
    ReportFormat("rdjson", "report.rdjson", _JSON, "reviewdog", _render_with("rdjson")),
)
REPORTS = {report.file: report for report in _ALWAYS}
OCCASIONAL = {report.file: report for report in _CYCLES}
"""Empty, and not written, for a run without agents."""
ON_DEMAND = {report.file: report for report in _ON_DEMAND}
"""For the services of others; rendered when they are asked for, and not written."""
WRITTEN = ChainMap(OCCASIONAL, REPORTS)
"""What is written at the end of a run: REPORTS first."""
WRITTEN_BY_REVIEW = {"report.json": REPORTS["report.json"]}
"""What is written at the end of a run that only reviews. Its other reports are rendered when they
are asked for: all of them together take as long as an analyzer.
"""
