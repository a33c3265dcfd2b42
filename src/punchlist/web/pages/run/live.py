"""What a page hears while a run goes on: that something happened, not what; it then asks for the
parts that it shows.
"""

from typing import Annotated

import msgspec
from litestar import Response
from litestar.params import HeaderParameter, QueryParameter
from litestar.response import Stream

from punchlist.app.drive.background import Said
from punchlist.app.drive.threaded import Beside
from punchlist.model.ledger import codec as wire
from punchlist.web.api.routes import AtDesk, welcome
from punchlist.web.pages.routes import Asking, page
from punchlist.web.pages.run.views import last_words
from punchlist.web.sse.follow import HEADERS, Following, position
from punchlist.web.sse.frames import Frames, Position, sse

_EVENTS = "text/event-stream"
Last = Annotated[str | None, HeaderParameter(name="Last-Event-ID", max_length=40)]


class Pulse:
    """One reader's own tale: a beat for each line of the ledger, and one beside it when actions
    begin.

    A line may be megabytes of findings; whoever looks at a page needs its number, and sees a page
    of it.
    """

    def __init__(self, frames: Frames, driving: Beside) -> None:
        self._frames = frames
        self._driving = driving
        self._under_way: frozenset[tuple[str, str]] = frozenset()

    def next(self, run: str, after: Position) -> tuple[Position, bytes] | None:
        piece = self._frames.next(run, after)
        if piece is not None:
            at, _ = piece
            return at, sse(msgspec.json.encode({"seq": at[0]}), event="entry", id_=str(at[0]))
        now = frozenset((each.place, each.key) for each in self._driving.under_way(run))
        if now != self._under_way:
            self._under_way = now
            return after, sse(b"{}", event="flight")
        return None


@page("/runs/{run_id:str}/live")
async def live(
    request: Asking,
    desk: AtDesk,
    run_id: str,
    after: Annotated[int, QueryParameter(ge=0, le=10**12)] = 0,
    last: Last = None,
) -> Stream | Response[None]:
    """From where the page was made on; a browser that comes back says itself where it was."""
    run = desk.run(run_id)
    since = position(last) if last else (after, 0)
    if run.ended and since[0] >= run.seq and not desk.driven(run.id):
        return Response(None, status_code=204)

    def over() -> bytes | None:
        return (
            sse(b"{}", event="end")
            if desk.load(run_id).ended and not desk.driving.drives(run_id)
            else None
        )

    def voice(said: Said) -> bytes:
        told = {"number": said.number, "label": said.label, "text": last_words(said.text)}
        return sse(desk.hide(wire.encode(told)), event="agent")

    tale = Pulse(desk.frames, desk.driving)
    reader = Following(
        run=run.id, tale=tale, after=since, over=over, voice=voice, welcome=welcome(request)
    )
    return Stream(desk.follow(reader), media_type=_EVENTS, headers=HEADERS)


ROUTES = (live,)
