"""MCP resources: reports, the ledger as JSON lines, items."""

import re
from collections.abc import Iterator

from mcp_types import Resource, ResourceTemplate
from msgspec.structs import replace

from punchlist.app.after.reports import OFFERED, REPORT_NAMES, content_type, render_report
from punchlist.errors import UsageError
from punchlist.mcp.session import McpSession
from punchlist.mcp.tools.read import get_item
from punchlist.mcp.views import build_detail
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent, Reproduced, Started
from punchlist.model.ledger.run import Run
from punchlist.views.request_fields import RUN_ID

_LISTED = 10
_ADDRESS = re.compile(
    rf"punchlist://runs/(?P<run>last|{RUN_ID})/(?P<what>[a-z.]+)(?:/(?P<item>\d{{1,9}}))?"
)
_LINES = "application/x-ndjson"


def list_templates() -> list[ResourceTemplate]:
    reports = (
        _make_template(
            report.file,
            f"report-{report.name}".removesuffix("-md"),
            f"A run as a report: {report.title}.",
            report.content_type,
        )
        for report in OFFERED
    )
    ledger = "Everything that happened in a run, line by line."
    item = "One item with code, history and proofs."
    return [
        *reports,
        _make_template("ledger.jsonl", "ledger", ledger, _LINES),
        _make_template("items/{number}", "item", item, "application/json"),
    ]


def _make_template(path: str, name: str, about: str, kind: str) -> ResourceTemplate:
    uri = f"punchlist://runs/{{run}}/{path}"
    return ResourceTemplate(uri_template=uri, name=name, description=about, mime_type=kind)


def list_resources(app: McpSession) -> list[Resource]:
    """Return reports and ledgers of the newest runs."""
    return [
        Resource(
            uri=f"punchlist://runs/{row.id}/{what}", name=f"{what} of run {row.id}", mime_type=kind
        )
        for row in app.rows_of(app.repositories)[:_LISTED]
        for what, kind in (("report.md", "text/markdown"), ("ledger.jsonl", _LINES))
    ]


def read_resource(app: McpSession, address: str) -> tuple[str, str]:
    """Return the text at an address, and its media type; raise UsageError if there is none."""
    found = _ADDRESS.fullmatch(address)
    if found is None or (found["what"] == "items") != (found["item"] is not None):
        raise UsageError(
            f"nothing is at {address[:200]}",
            hint="resources/templates/list has the addresses there are",
        )
    run, what = app.find_run(found["run"]), found["what"]
    if found["item"]:
        detail = build_detail(get_item(run, int(found["item"])), run)
        return _decode_text(wire.encode(detail)), "application/json"
    if what == "ledger.jsonl":
        return "".join(_ledger_lines(app, run)), _LINES
    if what not in REPORT_NAMES:
        raise UsageError(
            f"run {run.id} has no {what}",
            hint=f"there are {', '.join(REPORT_NAMES)}, ledger.jsonl and items/N",
        )
    return _decode_text(render_report(run, what)), content_type(what)


def _ledger_lines(app: McpSession, run: Run) -> Iterator[str]:
    for entry in app.store.read(run.id):
        yield _decode_text(wire.encode(replace(entry, event=_redact_event(entry.event)))) + "\n"


def _redact_event(event: AnyEvent) -> AnyEvent:
    """Remove settings and private tests: the client may be the fixer."""
    match event:
        case Started():
            return replace(event, settings="", keep="")
        case Reproduced():
            return replace(event, path="", content="")
        case _:
            return event


def _decode_text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
