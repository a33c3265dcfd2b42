"""Where tools say something is, in whatever units they count, as character offsets into a file's
text.
"""

from bisect import bisect_right
from itertools import accumulate

from punchlist.model.patch.line_table import LineTable

UTF8 = "utf-8"
UTF16 = "utf-16-le"
_WIDTH = {UTF8: 1, UTF16: 2}


class Positions(LineTable):
    """One file's text, and its places in the units of other programs."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._units: dict[str, list[int]] = {}

    def column(self, line: int | None, units: int | None, encoding: str) -> int | None:
        """The column in code points (from 1) of a column in code units (from 0)."""
        if line is None or units is None or units < 0:
            return None
        start = self._start(line)
        if start is None:
            return units + 1
        return _characters(self.text[start : self._end(line)], units, encoding) + 1

    def without_mark(self, line: int, column: int) -> int:
        """The column of a tool that does count the byte order mark."""
        return max(column - self._mark, 1) if line == 1 else column

    def is_plain(self, line: int) -> bool:
        """Whether a line is ASCII, so that all ways to count its columns agree."""
        return 1 <= line <= len(self._lines) and self._lines[line - 1].isascii()

    def of_units(self, units: int, encoding: str, *, marked: bool = True) -> int | None:
        """The offset that many code units into the file, its mark counted if `marked`; None if no
        character begins there.
        """
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
    # Odd bytes were read as lone surrogates: as UTF-8 each is the byte it was, as UTF-16 the one
    # unit a tool puts in its place.
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
