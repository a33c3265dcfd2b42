"""What can be read by its address: reports, the ledger as JSON lines, an item."""

import re
from collections.abc import Iterator

from mcp_types import Resource, ResourceTemplate
from msgspec.structs import replace

from punchlist.app.after.reports import REPORT_NAMES, render_report
from punchlist.app.report_formats import OFFERED, content_type
from punchlist.errors import UsageError
from punchlist.mcp.session import Desk
from punchlist.mcp.tools.read import item_of
from punchlist.mcp.views import item_whole
from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import AnyEvent, Reproduced, Started
from punchlist.model.ledger.run import Run

_LISTED = 10
_ADDRESS = re.compile(
    r"punchlist://runs/(?P<run>last|[A-Za-z0-9][A-Za-z0-9_-]{0,63})/(?P<what>[a-z.]+)(?:/(?P<item>\d{1,9}))?"
)
_LINES = "application/x-ndjson"

TEMPLATES = (
    *(
        (
            f"punchlist://runs/{{run}}/{report.file}",
            f"report-{report.name}".removesuffix("-md"),
            f"A run as a report: {report.title}.",
            report.content_type,
        )
        for report in OFFERED
    ),
    (
        "punchlist://runs/{run}/ledger.jsonl",
        "ledger",
        "Everything that happened in a run, line by line.",
        _LINES,
    ),
    (
        "punchlist://runs/{run}/items/{number}",
        "item",
        "One item with code, history and proofs.",
        "application/json",
    ),
)


def templates() -> list[ResourceTemplate]:
    return [
        ResourceTemplate(uri_template=uri, name=name, description=about, mime_type=kind)
        for uri, name, about, kind in TEMPLATES
    ]


def listed(desk: Desk) -> list[Resource]:
    """Reports and ledgers of the newest runs."""
    return [
        Resource(
            uri=f"punchlist://runs/{row.id}/{what}", name=f"{what} of run {row.id}", mime_type=kind
        )
        for row in desk.rows_of(desk.repositories)[:_LISTED]
        for what, kind in (("report.md", "text/markdown"), ("ledger.jsonl", _LINES))
    ]


def read(desk: Desk, address: str) -> tuple[str, str]:
    """The text at an address, and its media type."""
    found = _ADDRESS.fullmatch(address)
    if found is None or (found["what"] == "items") != (found["item"] is not None):
        raise UsageError(
            f"nothing is at {address[:200]}",
            hint="resources/templates/list has the addresses there are",
        )
    run = desk.run(found["run"])
    if found["item"]:
        return _text(
            wire.encode(item_whole(item_of(run, int(found["item"])), run))
        ), "application/json"
    if found["what"] == "ledger.jsonl":
        return "".join(_lines(desk, run)), _LINES
    if found["what"] not in REPORT_NAMES:
        raise UsageError(
            f"run {run.id} has no {found['what']}",
            hint=f"there are {', '.join(REPORT_NAMES)}, ledger.jsonl and items/N",
        )
    return _text(render_report(run, found["what"])), content_type(found["what"])


def _lines(desk: Desk, run: Run) -> Iterator[str]:
    for entry in desk.store.read(run.id):
        yield _text(wire.encode(replace(entry, event=_outward(entry.event)))) + "\n"


def _outward(event: AnyEvent) -> AnyEvent:
    """Settings are the user's own business, and whoever reads this may be the fixer, who must not
    see private tests.
    """
    match event:
        case Started():
            return replace(event, settings="")
        case Reproduced():
            return replace(event, path="", content="")
        case _:
            return event


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")
