"""Where a place in a patched file was before: exactly, because the splices are known."""

from bisect import bisect_right
from collections.abc import Iterable

from punchlist.model.finding.finding import Splice


class Shift:
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

    def origin(self, offset: int) -> tuple[int, int | None]:
        """The old offset, and the batch that wrote what is there now, if one did; inside new text,
        as far from its start.
        """
        at = bisect_right(self._starts, offset) - 1
        if at < 0:
            return offset, None
        start, end, splice, batch = self._pieces[at]
        if offset >= end:
            return splice.end + offset - end, None
        return min(splice.start + offset - start, max(splice.end - 1, splice.start)), batch

    def owners(self, first: int, last: int) -> list[int]:
        """The batches that wrote something into [first, last] of the patched text, or took
        something out of it.
        """
        return [
            batch
            for start, end, _, batch in self._pieces
            if start <= last and (end > first or end == start >= first)
        ]
