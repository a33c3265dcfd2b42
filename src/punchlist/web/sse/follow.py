"""Server-Sent Events: each reader follows the ledger at its own pace, and can resume."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable

from msgspec import Struct

from punchlist.app.drive.background import AgentOutput, wait_ring
from punchlist.app.drive.threaded import ThreadedDriver
from punchlist.errors import StoreAway
from punchlist.web.problem import Refused
from punchlist.web.sse.frames import FrameSource, Position, split_frames, take_batch

_ID = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?")
HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}


class Pace(Struct, frozen=True):
    """Seconds: `poll` for runs that other processes drive, `seldom` while their entries are `told`,
    `beat` between signs of life.
    """

    poll: float = 1.0
    beat: float = 15.0
    seldom: float = 5.0
    told: Callable[[], bool] = bool

    @property
    def wait(self) -> float:
        """Seconds until the ledger is looked at again."""
        return self.seldom if self.told() else self.poll


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
        """Raise StoreAway if it cannot be told; it is asked again at the next call then."""
        if time.monotonic() - self._asked < self._every:
            return False
        revoked = not self._admitted()
        self._asked = time.monotonic()
        return revoked

    def ask_again(self) -> None:
        self._asked = -self._every


def _find_last(reader: Subscription, after: Position) -> bytes | None:
    """Return the last frame if the reader has all others; None while more may come."""
    last = reader.over()
    more = last is None or reader.source.next_frame(reader.run, after) is not None
    return None if more else last


async def follow_run(
    reader: Subscription, driving: ThreadedDriver, pace: Pace, closing: Callable[[], bool]
) -> AsyncIterator[bytes]:
    """Yield all frames after the reader's position, then new ones, until run or server stop. While
    the store is away nothing comes; afterwards it goes on where it was, for those still admitted.
    """
    after, seen, sent = reader.after, 0, time.monotonic()
    access = _AccessCheck(reader.admitted, pace.beat)
    yield b"retry: 1000\n\n"
    stopping = False
    while not stopping:
        stopping = closing() and not driving.is_driving(reader.run)
        bell = driving.bell.listen(reader.run)
        try:
            if access.is_revoked():
                return
            while (several := take_batch(reader.source, reader.run, after)) is not None:
                after, frames = several
                for part in split_frames(frames):
                    yield part
                sent = time.monotonic()
                await asyncio.sleep(0)  # sending to a fast reader never waits: others take turns
            for output in driving.talk.list_after(reader.run, seen):
                seen = output.number
                yield reader.encode(output)
            if (last := _find_last(reader, after)) is not None:
                if last:
                    yield last
                return
        except StoreAway:
            access.ask_again()
        heard = stopping or await wait_ring(bell, pace.wait)
        if not heard and time.monotonic() - sent >= pace.beat:
            yield b": still here\n\n"
            sent = time.monotonic()
