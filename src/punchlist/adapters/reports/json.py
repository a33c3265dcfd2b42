"""The run as one JSON document with stable keys, for programs."""

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.run import Run
from punchlist.views.report_document import report


def render(run: Run) -> bytes:
    return wire.encode(report(run)) + b"\n"
