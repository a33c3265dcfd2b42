"""What becomes of a run on paper: one module per format, each a function of the run alone."""

from collections.abc import Callable

from punchlist.adapters.reports import document, html, junit, markdown, sarif
from punchlist.model.run import Run

REPORTS: dict[str, Callable[[Run], bytes]] = {
    "report.md": markdown.render,
    "report.json": document.render,
    "report.sarif": sarif.render,
    "report.junit.xml": junit.render,
    "report.html": html.render,
}
