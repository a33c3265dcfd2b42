"""Server-Sent Events: each reader follows the ledger at its own pace, and can resume."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from punchlist.app.drive.background import AgentOutput, wait_ring
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.web.problem import Refused
from punchlist.web.sse.frames import FrameSource, Position, split_frames, take_batch

_ID = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?")
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Pace(Struct, frozen=True):
    """Seconds: `poll` for runs that other processes drive, `beat` between signs of life."""

    poll: float = 1.0
    beat: float = 15.0


class Subscription(Struct, frozen=True, kw_only=True):
    """One reader's stream. `over`, called at the end of the ledger, returns the last frame, or None
    while more may come.
    """

    run: str
    source: FrameSource
    after: Position
    over: Callable[[], bytes | None]
    encode: Callable[[AgentOutput], bytes]
    """Makes a frame of an agent's output: without an id, and not sent again."""
    admitted: Callable[[], bool]
    """Whether the reader may still read; called with every beat."""


def parse_position(last_event_id: str | None) -> Position:
    """Parse a Last-Event-ID; none, or an empty one, is the beginning."""
    if not last_event_id:
        return (0, 0)
    match = _ID.fullmatch(last_event_id.strip())
    if match is None:
        raise Refused(
            400,
            "Last-Event-ID is no id of this stream",
            "send the last id that was received, or none",
        )
    return (int(match[1]), int(match[2] or 0))


class _AccessCheck:
    """Checks from time to time whether a reader is still admitted."""

    def __init__(self, admitted: Callable[[], bool], every: float) -> None:
        self._admitted = admitted
        self._every = every
        self._asked = time.monotonic()

    def is_revoked(self) -> bool:
        if time.monotonic() - self._asked < self._every:
            return False
        self._asked = time.monotonic()
        return not self._admitted()


async def follow_run(
    reader: Subscription, driving: ThreadedDriver, pace: Pace, closing: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield all frames after the reader's position, then new ones, until run or server stop."""
    after, seen, sent = reader.after, 0, time.monotonic()
    access = _AccessCheck(reader.admitted, pace.beat)
    yield b"retry: 1000\n\n"
    while True:
        stopping = closing() and not driving.is_driving(reader.run)
        bell = driving.bell.listen(reader.run)
        while (several := take_batch(reader.source, reader.run, after)) is not None:
            after, frames = several
            for part in split_frames(frames):
                yield part
            sent = time.monotonic()
            await asyncio.sleep(0)  # sending to a fast reader never waits: let others take turns
        for output in driving.talk.list_after(reader.run, seen):
            seen = output.number
            yield reader.encode(output)
        last = reader.over()
        if last is not None and reader.source.next_frame(reader.run, after) is None:
            if last:
                yield last
            return
        if stopping or access.is_revoked():
            return
        if not await wait_ring(bell, pace.poll) and time.monotonic() - sent >= pace.beat:
            yield b": still here\n\n"
            sent = time.monotonic()
