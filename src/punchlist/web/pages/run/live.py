"""Live updates by Server-Sent Events: tell the page that something changed; it then fetches the
parts it shows.
"""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from punchlist.app.drive.background import AgentOutput
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.model.ledger import codec as wire
from punchlist.web.api.routes import AtDesk, access_checker
from punchlist.web.pages.routes import Asking, page
from punchlist.web.pages.run.views import tail_text
from punchlist.web.sse.follow import HEADERS, Subscription, parse_position
from punchlist.web.sse.frames import FrameCache, Position, encode_sse

_EVENTS = "text/event-stream"
Last = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]


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
            at, _ = piece
            return at, encode_sse(
                msgspec.json.encode({"seq": at[0]}), event="entry", id_=str(at[0])
            )
        now = frozenset((each.place, each.key) for each in self._driving.active_actions(run))
        if now != self._under_way:
            self._under_way = now
            return after, encode_sse(b"{}", event="flight")
        return None


@page("/runs/{run_id:str}/live")
async def live(
    request: Asking,
    desk: AtDesk,
    run_id: str,
    after: Annotated[int, QueryParameter(ge=0, le=10**12)] = 0,
    last: Last = None,
) -> Stream | Response[None]:
    """Stream from the page's position on, or from the browser's Last-Event-ID."""
    run = desk.find_run(run_id)
    since = parse_position(last) if last else (after, 0)
    if run.ended and since[0] >= run.seq and not desk.is_driven(run.id):
        return Response(None, status_code=204)

    def end_frame() -> bytes | None:
        return (
            encode_sse(b"{}", event="end")
            if desk.load(run_id).ended and not desk.driving.is_driving(run_id)
            else None
        )

    def agent_frame(said: AgentOutput) -> bytes:
        told = {"number": said.number, "label": said.label, "text": tail_text(said.text)}
        return encode_sse(desk.hide(wire.encode(told)), event="agent")

    tale = PageFeed(desk.frames, desk.driving)
    reader = Subscription(
        run=run.id,
        tale=tale,
        after=since,
        over=end_frame,
        voice=agent_frame,
        welcome=access_checker(request),
    )
    return Stream(desk.open_stream(reader), media_type=_EVENTS, headers=HEADERS)


ROUTES = (live,)
