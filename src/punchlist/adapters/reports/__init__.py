"""What becomes of a run on paper: one module per format, each a function of the run alone."""

from collections.abc import Callable

from punchlist.adapters.reports import fix_report as cycles
from punchlist.adapters.reports import html, junit, markdown, sarif
from punchlist.adapters.reports import json as document
from punchlist.model.ledger.run import Run

REPORTS: dict[str, Callable[[Run], bytes]] = {
    "report.md": markdown.render,
    "report.json": document.render,
    "report.sarif": sarif.render,
    "report.junit.xml": junit.render,
    "report.html": html.render,
}
OCCASIONAL: dict[str, Callable[[Run], bytes]] = {
    "cycles.md": cycles.markdown,
    "cycles.json": cycles.document,
}
"""Made only of runs that have something of the kind to tell; of others they are empty, and are not
written.
"""
WRITTEN = REPORTS | OCCASIONAL
"""What is written at the end of a run."""
