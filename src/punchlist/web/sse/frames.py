"""Ledger entries as frames of a stream, made once for all readers."""

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry, Started
from punchlist.ports.store import Store
from punchlist.web.schemas import EventLine
from punchlist.web.security.hiding import PathMasker

Position = tuple[int, int]
"""A line of the ledger, and the index of a frame made from it."""
Frame = bytes | memoryview
_BYTES = 16 * 1024 * 1024
_AHEAD = 32
_AHEAD_BYTES = 1024 * 1024
_PIECE = 64 * 1024


class FrameSource(Protocol):
    """A source of frames, the same at each reading."""

    def next_frame(self, run: str, after: Position) -> tuple[Position, Frame] | None:
        """Return the first frame after a position; None if there is none yet."""
        ...


class FrameCache:
    """Ledger entries as frames. All readers share one copy; an evicted frame stays known while it
    is being sent.
    """

    def __init__(self, store: Store, hide: PathMasker) -> None:
        self._store = store
        self._hide = hide
        self._kept: OrderedDict[tuple[str, int], memoryview] = OrderedDict()
        self._size = 0
        self._in_use: WeakValueDictionary[tuple[str, int], memoryview] = WeakValueDictionary()

    def next_frame(self, run: str, after: Position) -> tuple[Position, Frame] | None:
        seq = after[0] + 1
        frame = self._in_use.get((run, seq)) or self._fetch_frames(run, seq)
        return ((seq, 0), frame) if frame is not None else None

    def _fetch_frames(self, run: str, seq: int) -> memoryview | None:
        """Make this frame and a few next ones, unless they are large."""
        first, ahead = None, 0
        for entry in islice(self._store.read(run, seq - 1), _AHEAD):
            data = self._hide(wire.encode(make_line(entry)))
            frame = memoryview(encode_sse(data, event=event_kind(entry), id_=str(entry.seq)))
            first = first or frame
            ahead += len(frame)
            self._cache_frame((run, entry.seq), frame)
            if ahead > _AHEAD_BYTES:
                break
        return first

    def _cache_frame(self, key: tuple[str, int], frame: memoryview) -> None:
        self._size += len(frame) - len(self._kept.pop(key, b""))
        self._kept[key] = self._in_use[key] = frame
        while self._size > _BYTES:
            _, gone = self._kept.popitem(last=False)
            self._size -= len(gone)


def take_batch(
    source: FrameSource, run: str, after: Position
) -> tuple[Position, list[Frame]] | None:
    """Return the frames after a position, about 64 KiB at once: a send costs more than a frame."""
    frames: list[Frame] = []
    size = 0
    while size < _PIECE and (piece := source.next_frame(run, after)) is not None:
        after, frame = piece
        frames.append(frame)
        size += len(frame)
    return (after, frames) if frames else None


def split_frames(frames: list[Frame]) -> Iterator[bytes]:
    """Yield parts to send, so that a stalled reader does not hold all of a large frame."""
    *short, last = frames
    if short:
        yield b"".join(short)
    for start in range(0, len(last), _PIECE):
        yield bytes(last[start : start + _PIECE])


def event_kind(entry: Entry) -> str:
    return str(entry.event.__struct_config__.tag)


def make_line(entry: Entry) -> EventLine:
    """Return the entry without settings, the store of results and the hash chain."""
    event = entry.event
    if isinstance(event, Started):
        event = replace(event, settings="", keep="")
    fields: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    return EventLine(
        run=entry.run,
        seq=entry.seq,
        at=entry.at,
        place=entry.place,
        key=entry.key,
        kind=event_kind(entry),
        event=fields,
    )


def encode_sse(data: bytes, *, event: str, id_: str = "") -> bytes:
    """Encode one event; JSON is on one line."""
    head = f"id: {id_}\nevent: {event}\n" if id_ else f"event: {event}\n"
    return head.encode() + b"data: " + data + b"\n\n"
