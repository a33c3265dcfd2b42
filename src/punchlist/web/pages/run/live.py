"""Live updates by Server-Sent Events: the page hears that something changed, and fetches parts."""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import QueryParameter
from litestar.response import Stream

from punchlist.app.drive.background import AgentOutput
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.model.ledger import codec as wire
from punchlist.web.api.read import LAST, stream_ledger
from punchlist.web.api.routes import AnyRequest, App, access_checker
from punchlist.web.pages.routes import page
from punchlist.web.pages.run.views import tail_text
from punchlist.web.sse.follow import Subscription, parse_position
from punchlist.web.sse.frames import FrameCache, Position, encode_sse


class PageFeed:
    """Events of one reader: an `entry` per line of the ledger, with its number only, and a
    `flight` when the running actions change.
    """

    def __init__(self, frames: FrameCache, driving: ThreadedDriver) -> None:
        self._frames = frames
        self._driving = driving
        self._under_way: frozenset[tuple[str, str]] = frozenset()

    def next_frame(self, run: str, after: Position) -> tuple[Position, bytes] | None:
        piece = self._frames.next_frame(run, after)
        if piece is not None:
            (seq, index), _ = piece
            data = msgspec.json.encode({"seq": seq})
            return (seq, index), encode_sse(data, event="entry", id_=str(seq))
        now = frozenset((each.place, each.key) for each in self._driving.active_actions(run))
        if now != self._under_way:
            self._under_way = now
            return after, encode_sse(b"{}", event="flight")
        return None


@page("/runs/{run_id:str}/live")
async def live(
    request: AnyRequest,
    app: App,
    run_id: str,
    after: Annotated[int, QueryParameter(ge=0, le=10**12)] = 0,
    last: LAST = None,
) -> Stream | Response[None]:
    """Stream from the page's position on, or from the browser's Last-Event-ID."""
    run = app.find_run(run_id)

    def encode_output(output: AgentOutput) -> bytes:
        data = {"number": output.number, "label": output.label, "text": tail_text(output.text)}
        return encode_sse(app.hide(wire.encode(data)), event="agent")

    reader = Subscription(
        run=run.id,
        source=PageFeed(app.frames, app.driving),
        after=parse_position(last) if last else (after, 0),
        over=lambda: app.ledger_end(run.id),
        encode=encode_output,
        admitted=access_checker(request),
    )
    return stream_ledger(app, run, reader)


ROUTES = (live,)
