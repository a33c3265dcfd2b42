"""Routes that read a run: items, diffs, events, artifacts, reports."""

import asyncio
from itertools import islice
from typing import Annotated, Any

from litestar import Response
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, PathParameter, QueryParameter
from litestar.response import Stream

from punchlist.app.after.branch_state import load_diff
from punchlist.app.after.reports import (
    FORMATS,
    REPORT_NAMES,
    content_type,
    find_report,
    render_report,
)
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Status
from punchlist.model.ledger.run import Run
from punchlist.views.item_list import ItemFilter
from punchlist.views.report_document import ItemPart, make_item_part
from punchlist.web.api.artifacts import list_artifacts, read_artifact
from punchlist.web.api.routes import AnyRequest, App, access_checker, read_route
from punchlist.web.api.runs import RunId, require_item
from punchlist.web.api.views import item_page
from punchlist.web.problem import Refused
from punchlist.web.schemas import ArtifactLine, EventPage, ItemPage, Sent
from punchlist.web.sse.follow import HEADERS, Subscription, parse_position
from punchlist.web.sse.frames import make_line
from punchlist.web.state import WebSession

_EVENTS = "text/event-stream"
LAST = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID",
        max_length=40,
        description="The last id that was received: goes on after it.",
    ),
]
Number = Annotated[int, PathParameter(ge=1, le=10**9, description="The item's number.")]
FileName = Annotated[
    str, PathParameter(max_length=1000, description="Its name, as the list has it.")
]
Form = Annotated[str, PathParameter(max_length=40, description=f"{', '.join(FORMATS)}, or a name.")]


def _content(kind: Any, description: str, media_type: str = "application/json") -> ResponseSpec:
    return ResponseSpec(
        kind, description=description, media_type=media_type, generate_examples=False
    )


BYTES = _content(bytes, "The file, of whatever kind it is.", "*/*")
DIFF = _content(bytes, "A unified diff.", "text/x-diff")
_NOTHING = _content(None, "All was received.")
SSE = _content(Sent, "Server-Sent Events.", _EVENTS)


@read_route("/runs/{run_id:str}/items", "The items of a run, worst first")
async def items(  # noqa: PLR0913, PLR0917 - one for each filter
    app: App,
    run_id: RunId,
    status: Annotated[list[Status] | None, QueryParameter(max_items=10)] = None,
    severity: Annotated[list[Severity] | None, QueryParameter(max_items=10)] = None,
    path: Annotated[str, QueryParameter(max_length=500)] = "",
    text: Annotated[str, QueryParameter(max_length=200)] = "",
    in_scope: Annotated[bool | None, QueryParameter()] = None,
    offset: Annotated[int, QueryParameter(ge=0, le=10**9)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> ItemPage:
    wanted = ItemFilter(
        status=tuple(status or ()),
        severity=tuple(severity or ()),
        path=path,
        text=text,
        in_scope=in_scope,
    )
    return item_page(app.find_run(run_id), wanted, offset, limit)


@read_route("/runs/{run_id:str}/items/{number:int}", "One item: history, proofs, change, score")
async def item(app: App, run_id: RunId, number: Number) -> ItemPart:
    run = app.find_run(run_id)
    return make_item_part(require_item(run, number), run)


@read_route("/runs/{run_id:str}/diff", "All that landed, as a unified diff", responses={200: DIFF})
async def diff(app: App, run_id: RunId) -> Response[bytes]:
    run = app.find_run(run_id)
    async with app.session_of(run.id) as session:
        text = await load_diff(session, run)
    return Response(text.encode(errors="replace"), media_type="text/x-diff")


@read_route("/runs/{run_id:str}/events", "The ledger, page by page")
async def events(
    app: App,
    run_id: RunId,
    after: Annotated[int, QueryParameter(ge=0, le=10**12)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> EventPage:
    run = app.find_run(run_id)
    lines = tuple(map(make_line, islice(app.store.read(run.id, after), limit)))
    last = lines[-1].seq if lines else after
    return EventPage(last=last, more=last < run.seq, events=lines)


@read_route(
    "/runs/{run_id:str}/stream", "The ledger as it grows", responses={200: SSE, 204: _NOTHING}
)
async def stream(
    app: App, request: AnyRequest, run_id: RunId, last_event_id: LAST = None
) -> Stream | Response[None]:
    """One event for each line: its id is the line's number, its name the kind. `agent` events are
    what agents say, without ids. 204 says that the run has ended and all of it was received.
    """
    run = app.find_run(run_id)
    reader = Subscription(
        run=run.id,
        source=app.frames,
        after=parse_position(last_event_id),
        over=lambda: app.ledger_end(run.id),
        encode=app.output_encoder("agent"),
        admitted=access_checker(request),
    )
    return stream_ledger(app, run, reader)


def stream_ledger(app: WebSession, run: Run, reader: Subscription) -> Stream | Response[None]:
    """Stream the run; answer 204 if it has ended and the reader has all of it."""
    if run.ended and reader.after[0] >= run.seq and not app.is_driven(run.id):
        return Response(None, status_code=204)
    return make_stream(app, reader)


def make_stream(app: WebSession, reader: Subscription) -> Stream:
    return Stream(app.open_stream(reader), media_type=_EVENTS, headers=HEADERS)


@read_route(
    "/runs/{run_id:str}/artifacts", "The files of a run: evidence, transcripts, plans, reports"
)
async def artifacts(app: App, run_id: RunId) -> tuple[ArtifactLine, ...]:
    return await list_artifacts(app.session.artifacts(app.find_run(run_id).id))


@read_route("/runs/{run_id:str}/artifacts/{name:path}", "One file of a run", responses={200: BYTES})
async def artifact(app: App, run_id: RunId, name: FileName) -> Response[bytes]:
    run = app.find_run(run_id)
    found = await read_artifact(app.session.recorded_artifacts(run), name.removeprefix("/"))
    if found is None:
        raise Refused(
            404, f"run {run.id} has no such file", f"GET /api/runs/{run.id}/artifacts lists them"
        )
    kind = content_type(name)
    if kind == "text/html" and name.removeprefix("/") not in REPORT_NAMES:
        kind = ""  # a page that punchlist did not make is shown as text
    return Response(found, media_type=kind or "text/plain; charset=utf-8")


@read_route("/runs/{run_id:str}/reports/{form:str}", "A run on paper", responses={200: BYTES})
async def report(app: App, run_id: RunId, form: Form) -> Response[bytes]:
    name, content = await make_report_file(app.find_run(run_id), form)
    return Response(content, media_type=content_type(name))


async def make_report_file(run: Run, form: str) -> tuple[str, bytes]:
    """Return name and content of a report; a large one takes seconds, so a thread makes it."""
    name = find_report(form)
    if name is None:
        raise Refused(404, "there is no such report", f"one of: {', '.join(REPORT_NAMES)}")
    return name, await asyncio.to_thread(render_report, run, name)


ROUTES = (items, item, diff, events, stream, artifacts, artifact, report)
