"""The run as one JSON document with stable keys."""

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import make_report


def render(run: Run) -> bytes:
    return wire.encode(make_report(run)) + b"\n"
