"""reviewdog's diagnostic format, rdjson.

https://github.com/reviewdog/reviewdog/tree/master/proto/rdf
"""

from typing import Any

import msgspec

from punchlist.model.finding.severity import Severity
from punchlist.model.ledger.run import Run
from punchlist.views.escaping import escape_controls, escape_path, one_line, web_address
from punchlist.views.review.diagnostics import ReviewDiagnostic, find_unreviewed, list_diagnostics

_LEVELS = {Severity.CRITICAL: "ERROR", Severity.MAJOR: "WARNING", Severity.MINOR: "INFO"}


def render(run: Run) -> bytes:
    gaps = [
        {
            "message": one_line(f"Not reviewed: {gap.what}" + (f": {gap.why}" if gap.why else "")),
            "location": {"path": ""},
            "severity": "ERROR",
            "code": {"value": "punchlist/not-reviewed"},
        }
        for gap in find_unreviewed(run)
    ]
    result = {
        "source": {"name": "punchlist"},
        "diagnostics": [*map(_describe, list_diagnostics(run)), *gaps],
    }
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def _describe(found: ReviewDiagnostic) -> dict[str, Any]:
    detail = escape_controls(found.finding.detail).strip()
    url = web_address(found.finding.url)
    place = _make_range(found)
    return {
        "message": f"{found.message}\n{detail}" if detail else found.message,
        "location": {"path": escape_path(found.spot.path), **({"range": place} if place else {})},
        "severity": _LEVELS[found.severity],
        "source": {"name": one_line(found.finding.source) or "punchlist"},
        "code": {"value": found.rule, **({"url": url} if url else {})},
    }


def _make_range(found: ReviewDiagnostic) -> dict[str, Any]:
    """Return the range. Its columns count bytes of UTF-8, ours characters: they are left out where
    the lines are not known to be ASCII.
    """
    spot, code = found.spot, found.finding.code
    if not spot.line:
        return {}
    first, last = spot.line_range
    columns = spot.column if code and code.isascii() and first == spot.line else None
    start = {"line": first, **({"column": columns} if columns else {})}
    if columns and not spot.end_column:
        return {"start": start}
    end = {"line": last, **({"column": spot.end_column} if columns else {})}
    return {"start": start, "end": end}
