"""The ledger as readers see it: lines made ready once for everybody."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Protocol
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from punchlist.model.ledger import codec as wire
from punchlist.model.ledger.events import Entry, Started
from punchlist.ports.store import Store
from punchlist.web.schemas import EventLine
from punchlist.web.security.hiding import Hiding

Position = tuple[int, int]
"""A line of the ledger, and which of the things that it tells."""
Frame = bytes | memoryview
_BYTES = 16 * 1024 * 1024
_AHEAD = 32
_AHEAD_BYTES = 1024 * 1024
_PIECE = 64 * 1024


class Tale(Protocol):
    """Something that can be told piece by piece, in the same way each time."""

    def next(self, run: str, after: Position) -> tuple[Position, Frame] | None:
        """The first piece after a position; None where there is none yet."""
        ...


class Frames:
    """Lines of ledgers as they are sent. A line never changes, so all readers share one copy, and
    none has a queue: what is not among those kept is still known for as long as somebody is about
    to send it.
    """

    def __init__(self, store: Store, hide: Hiding) -> None:
        self._store = store
        self._hide = hide
        self._kept: OrderedDict[tuple[str, int], memoryview] = OrderedDict()
        self._size = 0
        self._in_use: WeakValueDictionary[tuple[str, int], memoryview] = WeakValueDictionary()

    def next(self, run: str, after: Position) -> tuple[Position, Frame] | None:
        seq = after[0] + 1
        frame = self._in_use.get((run, seq)) or self._fetched(run, seq)
        return ((seq, 0), frame) if frame is not None else None

    def _fetched(self, run: str, seq: int) -> memoryview | None:
        """And a few that will be asked for next, unless they are large."""
        first, ahead = None, 0
        for _, entry in zip(range(_AHEAD), self._store.read(run, seq - 1), strict=False):
            frame = memoryview(
                sse(self._hide(wire.encode(shown(entry))), event=kind_of(entry), id_=str(entry.seq))
            )
            first = first or frame
            ahead += len(frame)
            self._keep((run, entry.seq), frame)
            if ahead > _AHEAD_BYTES:
                break
        return first

    def _keep(self, key: tuple[str, int], frame: memoryview) -> None:
        self._size += len(frame) - len(self._kept.pop(key, b""))
        self._kept[key] = self._in_use[key] = frame
        while self._size > _BYTES:
            _, gone = self._kept.popitem(last=False)
            self._size -= len(gone)


def batch(tale: Tale, run: str, after: Position) -> tuple[Position, list[Frame]] | None:
    """What comes after a position, as much as is worth sending at once: each hand-over costs more
    than a short frame does.
    """
    frames: list[Frame] = []
    size = 0
    while size < _PIECE and (piece := tale.next(run, after)) is not None:
        after, frame = piece
        frames.append(frame)
        size += len(frame)
    return (after, frames) if frames else None


def pieces(frames: list[Frame]) -> Iterator[bytes]:
    """As they are handed over: whoever stops reading holds a piece or two, and not all of a large
    frame.
    """
    *short, last = frames
    if short:
        yield b"".join(short)
    for start in range(0, len(last), _PIECE):
        yield bytes(last[start : start + _PIECE])


def kind_of(entry: Entry) -> str:
    return str(entry.event.__struct_config__.tag)


def shown(entry: Entry) -> EventLine:
    """Without the settings, which are the user's own business, and without what
    chains the lines.
    """
    event = replace(entry.event, settings="") if isinstance(entry.event, Started) else entry.event
    told: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    return EventLine(
        run=entry.run,
        seq=entry.seq,
        at=entry.at,
        place=entry.place,
        key=entry.key,
        kind=kind_of(entry),
        event=told,
    )


def sse(data: bytes, *, event: str, id_: str = "") -> bytes:
    """One event of a stream; JSON is on one line."""
    head = f"id: {id_}\nevent: {event}\n" if id_ else f"event: {event}\n"
    return head.encode() + b"data: " + data + b"\n\n"
