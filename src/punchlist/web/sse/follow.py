"""Server-Sent Events: each reader goes through the ledger at its own pace, and goes on where it
was, whatever happened.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from punchlist.app.drive.background import Said, rung
from punchlist.app.drive.threaded import Beside
from punchlist.web.problem import Refused
from punchlist.web.sse.frames import Position, Tale, batch, pieces

_ID = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?")
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Pace(Struct, frozen=True):
    """Seconds: `poll` for runs that other processes drive, `beat` between signs of life."""

    poll: float = 1.0
    beat: float = 15.0


class Following(Struct, frozen=True, kw_only=True):
    """One reader's wish. `over` says, once all is told, whether more may come: None, or the last
    words.
    """

    run: str
    tale: Tale
    after: Position
    over: Callable[[], bytes | None]
    voice: Callable[[Said], bytes]
    """How what an agent says is sent: beside the ledger, without an id, and not again."""
    welcome: Callable[[], bool]
    """Whether the reader may still read; it is asked with every beat."""


def position(last_event_id: str | None) -> Position:
    """Where a reader was. Nothing, or an empty id: at the beginning."""
    if not last_event_id:
        return (0, 0)
    match = _ID.fullmatch(last_event_id.strip())
    if match is None:
        raise Refused(
            400,
            "Last-Event-ID is no id of this stream",
            next_="send the last id that was received, or none",
        )
    return (int(match[1]), int(match[2] or 0))


class _Guest:
    """Somebody who was let in, and is asked about again from time to time."""

    def __init__(self, welcome: Callable[[], bool], every: float) -> None:
        self._welcome = welcome
        self._every = every
        self._asked = time.monotonic()

    def gone(self) -> bool:
        if time.monotonic() - self._asked < self._every:
            return False
        self._asked = time.monotonic()
        return not self._welcome()


async def followed(
    reader: Following, driving: Beside, pace: Pace, closing: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """All that is told after the reader's position, then what comes, until it is over, or the
    server stops and the run too.
    """
    after, heard, sent = reader.after, 0, time.monotonic()
    guest = _Guest(reader.welcome, pace.beat)
    yield b"retry: 1000\n\n"
    while True:
        stopping = closing() and not driving.drives(reader.run)
        bell = driving.bell.listen(reader.run)
        while (several := batch(reader.tale, reader.run, after)) is not None:
            after, frames = several
            for part in pieces(frames):
                yield part
            sent = time.monotonic()
            await asyncio.sleep(
                0
            )  # nothing holds up one who reads fast, or who is gone: others want their turn
        for said in driving.talk.after(reader.run, heard):
            heard = said.number
            yield reader.voice(said)
        if (last := reader.over()) is not None and reader.tale.next(reader.run, after) is None:
            if last:
                yield last
            return
        if stopping or guest.gone():
            return
        if not await rung(bell, pace.poll) and time.monotonic() - sent >= pace.beat:
            yield b": still here\n\n"
            sent = time.monotonic()
