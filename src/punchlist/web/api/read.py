"""Routes that read a run: items, diffs, events, artifacts, reports."""

import asyncio
from typing import Annotated, Any

from litestar import Request, Response
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import HeaderParameter, PathParameter, QueryParameter
from litestar.response import Stream
from msgspec.structs import replace

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
from punchlist.views.item_filter import ItemFilter
from punchlist.views.report_document import ItemPart, make_report
from punchlist.web.api.artifacts import list_artifacts, read_artifact
from punchlist.web.api.routes import AtDesk, access_checker, read_route
from punchlist.web.api.runs import RunId
from punchlist.web.api.views import item_page
from punchlist.web.problem import Refused
from punchlist.web.schemas import ArtifactLine, EventPage, ItemPage, Sent
from punchlist.web.sse.follow import HEADERS, Subscription, parse_position
from punchlist.web.sse.frames import encode_sse, make_line

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
BYTES = ResponseSpec(
    bytes,
    description="The file, of whatever kind it is.",
    media_type="*/*",
    generate_examples=False,
)
DIFF = ResponseSpec(
    bytes, description="A unified diff.", media_type="text/x-diff", generate_examples=False
)
_NOTHING = ResponseSpec(None, description="All was received.", generate_examples=False)
SSE = ResponseSpec(
    Sent, description="Server-Sent Events.", media_type=_EVENTS, generate_examples=False
)


@read_route(
    "/runs/{run_id:str}/items", operation_id="items", summary="The items of a run, worst first"
)
async def items(  # noqa: PLR0913, PLR0917 - one for each filter
    desk: AtDesk,
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
    return item_page(desk.find_run(run_id), wanted, offset, limit)


@read_route(
    "/runs/{run_id:str}/items/{number:int}",
    operation_id="item",
    summary="One item: history, proofs, change, score",
)
async def item(desk: AtDesk, run_id: RunId, number: Number) -> ItemPart:
    run = desk.find_run(run_id)
    if number not in run.items:
        raise Refused(
            404,
            f"run {run.id} has no item {number}",
            next_=f"GET /api/runs/{run.id}/items lists them",
        )
    return make_report(replace(run, items={number: run.items[number]})).items[0]


@read_route(
    "/runs/{run_id:str}/diff",
    operation_id="diff",
    summary="All that landed, as a unified diff",
    responses={200: DIFF},
)
async def diff(desk: AtDesk, run_id: RunId) -> Response[bytes]:
    run = desk.find_run(run_id)
    async with desk.session_of(run.id) as session:
        text = await load_diff(session, run)
    return Response(text.encode(errors="replace"), media_type="text/x-diff")


@read_route("/runs/{run_id:str}/events", operation_id="events", summary="The ledger, page by page")
async def events(
    desk: AtDesk,
    run_id: RunId,
    after: Annotated[int, QueryParameter(ge=0, le=10**12)] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> EventPage:
    run = desk.find_run(run_id)
    lines = tuple(
        make_line(entry)
        for _, entry in zip(range(limit), desk.store.read(run.id, after), strict=False)
    )
    last = lines[-1].seq if lines else after
    return EventPage(last=last, more=last < run.seq, events=lines)


@read_route(
    "/runs/{run_id:str}/stream",
    operation_id="stream",
    summary="The ledger as it grows",
    responses={200: SSE, 204: _NOTHING},
)
async def stream(
    desk: AtDesk, request: Request[Any, Any, Any], run_id: RunId, last_event_id: LAST = None
) -> Stream | Response[None]:
    """One event for each line: its id is the line's number, its name the kind. `agent` events are
    what agents say, without ids. 204 says that the run has ended and all of it was received.
    """
    run = desk.find_run(run_id)
    after = parse_position(last_event_id)
    if run.ended and after[0] >= run.seq and not desk.is_driven(run.id):
        return Response(None, status_code=204)

    def end_frame() -> bytes | None:
        return (
            encode_sse(b"{}", event="end")
            if desk.load(run_id).ended and not desk.driving.is_driving(run_id)
            else None
        )

    reader = Subscription(
        run=run.id,
        tale=desk.frames,
        after=after,
        over=end_frame,
        voice=desk.output_encoder("agent"),
        welcome=access_checker(request),
    )
    return Stream(desk.open_stream(reader), media_type=_EVENTS, headers=HEADERS)


@read_route(
    "/runs/{run_id:str}/artifacts",
    operation_id="artifacts",
    summary="The files of a run: evidence, transcripts, plans, reports",
)
async def artifacts(desk: AtDesk, run_id: RunId) -> tuple[ArtifactLine, ...]:
    return list_artifacts(desk.home, desk.find_run(run_id).id)


@read_route(
    "/runs/{run_id:str}/artifacts/{name:path}",
    operation_id="artifact",
    summary="One file of a run",
    responses={200: BYTES},
)
async def artifact(desk: AtDesk, run_id: RunId, name: FileName) -> Response[bytes]:
    run = desk.find_run(run_id)
    found = read_artifact(desk.home, run.id, name.removeprefix("/"))
    if found is None:
        raise Refused(
            404,
            f"run {run.id} has no such file",
            next_=f"GET /api/runs/{run.id}/artifacts lists them",
        )
    kind = content_type(name)
    theirs = (
        kind == "text/html" and name.removeprefix("/") not in REPORT_NAMES
    )  # a page that we did not make is shown as text
    return Response(found, media_type=("" if theirs else kind) or "text/plain; charset=utf-8")


@read_route(
    "/runs/{run_id:str}/reports/{form:str}",
    operation_id="report",
    summary="A run on paper",
    responses={200: BYTES},
)
async def report_(desk: AtDesk, run_id: RunId, form: Form) -> Response[bytes]:
    run = desk.find_run(run_id)
    name = find_report(form)
    if name is None:
        raise Refused(404, "there is no such report", next_=f"one of: {', '.join(REPORT_NAMES)}")
    made = await asyncio.to_thread(
        render_report, run, name
    )  # a large one takes seconds, and others want to go on reading
    return Response(made, media_type=content_type(name))


ROUTES = (items, item, diff, events, stream, artifacts, artifact, report_)
