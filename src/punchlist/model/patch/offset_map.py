"""Map offsets of a patched file to the original, exactly, by its splices."""

from bisect import bisect_right
from collections.abc import Iterable

from punchlist.model.finding.finding import Splice


class OffsetMap:
    """The splices of several batches on one file, in the coordinates of the patched text."""

    def __init__(self, splices: Iterable[tuple[Splice, int]]) -> None:
        self._pieces: list[tuple[int, int, Splice, int]] = []
        """Where the new text begins and ends, what it replaced, and whose it is."""
        moved = 0
        for splice, batch in sorted(splices, key=lambda pair: (pair[0].start, pair[0].end)):
            start = splice.start + moved
            end = start + len(splice.text)
            self._pieces.append((start, end, splice, batch))
            moved += len(splice.text) - (splice.end - splice.start)
        self._starts = [piece[0] for piece in self._pieces]

    def find_origin(self, offset: int) -> tuple[int, int | None]:
        """Return the old offset, and the batch that wrote the text there now, or None."""
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return offset, None
        start, end, splice, batch = self._pieces[at]
        if offset >= end:
            return splice.end + offset - end, None
        return min(splice.start + offset - start, max(splice.end - 1, splice.start)), batch

    def find_owners(self, first: int, last: int) -> list[int]:
        """Return the batches that added or removed text in [first, last] of the patched text."""
        return [
            batch
            for start, end, _, batch in self._pieces
            if start <= last and (end > first or end == start >= first)
        ]
