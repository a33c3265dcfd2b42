"""Where tools say something is, in whatever units they count, as character offsets into a file's text."""

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")

UTF8 = "utf-8"
UTF16 = "utf-16-le"
_WIDTH = {UTF8: 1, UTF16: 2}


class Positions:
    """One file's text and where its lines begin. A byte order mark is no column of its first line, as no tool counts it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = _LINE.findall(text)
        self._mark = 1 if text.startswith("\ufeff") else 0
        self._units: dict[str, list[int]] = {}

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate(map(len, self._lines), initial=0))

    def offset(self, line: int, column: int) -> int | None:
        """The offset of a line and column that count from 1 in code points; None where the file has no such place."""
        start = self._start(line)
        if start is None or column < 1:
            return None
        offset = start + column - 1
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return offset if offset <= end else None

    def line_end(self, line: int) -> int | None:
        """The offset of a line's end, its line break left out."""
        if not 1 <= line <= len(self._lines):
            return self.offset(line, 1)
        return self._starts[line - 1] + len(self._lines[line - 1].rstrip("\r\n"))

    def lines(self, first: int, last: int) -> list[str]:
        """The lines from first to last, as far as there are such, without their breaks or a byte order mark."""
        return [line.rstrip("\r\n").removeprefix("\ufeff") for line in self._lines[max(first, 1) - 1 : max(last, 0)]]

    def column(self, line: int | None, units: int | None, encoding: str) -> int | None:
        """The column in code points (from 1) of a column in code units (from 0)."""
        if line is None or units is None or units < 0:
            return None
        start = self._start(line)
        if start is None:
            return units + 1
        end = self._starts[line] if line < len(self._starts) else len(self.text)
        return _characters(self.text[start:end], units, encoding) + 1

    def without_mark(self, line: int, column: int) -> int:
        """The column of a tool that does count the byte order mark."""
        return max(column - self._mark, 1) if line == 1 else column

    def is_plain(self, line: int) -> bool:
        """Whether a line is ASCII, so that all ways to count its columns agree."""
        return 1 <= line <= len(self._lines) and self._lines[line - 1].isascii()

    def of_units(self, units: int, encoding: str, *, marked: bool = True) -> int | None:
        """The offset that many code units into the file, its mark counted if `marked`; None if no character begins there."""
        if not marked and self._mark and units >= 0:
            units += _size(self.text[0], encoding)
        starts = self._unit_starts(encoding)
        if not 0 <= units <= starts[-1]:
            return None
        index = bisect_right(starts, units) - 1
        if index == len(self._lines):
            return len(self.text)
        line, rest = self._lines[index], units - starts[index]
        count = _characters(line, rest, encoding)
        return self._starts[index] + count if _size(line[:count], encoding) == rest else None

    def place(self, offset: int) -> tuple[int, int]:
        """The line and column of an offset."""
        index = min(bisect_right(self._starts, offset) - 1, max(len(self._lines) - 1, 0))
        if offset == len(self.text) and (not self.text or self.text[-1] in "\r\n"):
            index = len(self._lines)
        start = self._starts[index] + (self._mark if index == 0 else 0)
        return index + 1, max(offset - start, 0) + 1

    def _start(self, line: int) -> int | None:
        if not 1 <= line <= len(self._starts):
            return None
        return self._starts[line - 1] + (self._mark if line == 1 else 0)

    def _unit_starts(self, encoding: str) -> list[int]:
        if encoding not in self._units:
            sizes = (_size(line, encoding) for line in self._lines)
            self._units[encoding] = list(accumulate(sizes, initial=0))
        return self._units[encoding]


def _size(text: str, encoding: str) -> int:
    if text.isascii():
        return len(text)
    return len(_encoded(text, encoding)) // _WIDTH[encoding]


def _encoded(text: str, encoding: str) -> bytes:
    # Odd bytes were read as lone surrogates: as UTF-8 each is the byte it was, as UTF-16 the one unit a tool puts in its place.
    return text.encode(encoding, "surrogateescape" if encoding == UTF8 else "surrogatepass")


def _characters(text: str, units: int, encoding: str) -> int:
    """How many characters the first `units` code units are; one that is cut counts as a whole."""
    if text.isascii():
        return min(units, len(text))
    used = 0
    for index, character in enumerate(text):
        if used >= units:
            return index
        used += 1 if character.isascii() else _size(character, encoding)
    return len(text)
