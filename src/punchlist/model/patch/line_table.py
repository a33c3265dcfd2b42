"""Line starts of a text; converts between lines, columns and offsets."""

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

from punchlist.model.finding.late_pattern import late_pattern

LINE_END = late_pattern(r"\r\n|\r|\n")
"""What ends a line for the tools; `str.splitlines` also breaks at form feeds and Unicode's
separators.
"""
_LINE = late_pattern(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


class LineTable:
    """One text; lines and columns count from 1. A byte order mark is no column of its line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = _LINE.findall(text)
        self._mark = 1 if text.startswith("\ufeff") else 0

    @cached_property
    def _starts(self) -> list[int]:
        """Offsets of the line starts, and the end of the text."""
        return list(accumulate(map(len, self._lines), initial=0))

    @property
    def count(self) -> int:
        """Number of lines; an empty last line does not count."""
        return len(self._lines)

    def offset(self, line: int, column: int) -> int | None:
        """Return the offset of a line and column in code points, or None if there is none."""
        start = self._text_start(line)
        if start is None or column < 1:
            return None
        offset = start + column - 1
        return offset if offset <= self._next_start(line) else None

    def nearest_offset(self, line: int, column: int) -> int:
        """Return the offset of a place, or of the nearest one, on its line if that exists."""
        known = min(max(line, 1), len(self._starts))
        start = self._text_start(known) or 0
        last = self.line_end(known)
        return min(start + max(column - 1, 0), max(start, last if last is not None else start))

    def line_start(self, line: int) -> int:
        """Return the offset of a line's start; the end of the text for lines beyond it."""
        return self._starts[min(max(line, 1), len(self._starts)) - 1]

    def line_end(self, line: int) -> int | None:
        """Return the offset of a line's end, without its line break."""
        if not 1 <= line <= len(self._lines):
            return self.offset(line, 1)
        return self._starts[line - 1] + len(self._lines[line - 1].rstrip("\r\n"))

    def lines(self, first: int, last: int) -> list[str]:
        """Return the existing lines from first to last, without breaks or byte order mark."""
        return [
            line.rstrip("\r\n").removeprefix("\ufeff")
            for line in self._lines[max(first, 1) - 1 : max(last, 0)]
        ]

    def find_place(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset."""
        index = min(bisect_right(self._starts, offset) - 1, max(len(self._lines) - 1, 0))
        if offset == len(self.text) and (not self.text or self.text[-1] in "\r\n"):
            index = len(self._lines)
        start = self._starts[index] + (self._mark if index == 0 else 0)
        return index + 1, max(offset - start, 0) + 1

    def _text_start(self, line: int) -> int | None:
        if not 1 <= line <= len(self._starts):
            return None
        return self._starts[line - 1] + (self._mark if line == 1 else 0)

    def _next_start(self, line: int) -> int:
        """Return where the next line begins, or the text ends."""
        return self._starts[line] if line < len(self._starts) else len(self.text)
