"""Convert positions in the units of tools (bytes, UTF-16) to character offsets."""

from bisect import bisect_right
from itertools import accumulate

from punchlist.model.patch.line_table import LineTable

UTF8 = "utf-8"
UTF16 = "utf-16-le"
_WIDTH = {UTF8: 1, UTF16: 2}


class Positions(LineTable):
    """One file's text, and its positions in the units of tools."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._units: dict[str, list[int]] = {}

    def convert_column(self, line: int | None, units: int | None, encoding: str) -> int | None:
        """Return the column in code points (from 1) of a column in code units (from 0)."""
        if line is None or units is None or units < 0:
            return None
        start = self._text_start(line)
        if start is None:
            return units + 1
        return _count_characters(self.text[start : self._next_start(line)], units, encoding) + 1

    def skip_mark(self, line: int, column: int) -> int:
        """Return the column for a tool that counts the byte order mark."""
        return max(column - self._mark, 1) if line == 1 else column

    def is_plain(self, line: int) -> bool:
        """Whether a line is ASCII, so that all ways to count its columns agree."""
        return 1 <= line <= len(self._lines) and self._lines[line - 1].isascii()

    def convert_offset(self, units: int, encoding: str, *, marked: bool = True) -> int | None:
        """Return the offset after that many code units, or None if no character begins there;
        `marked`: the byte order mark is counted.
        """
        if not marked and self._mark and units >= 0:
            units += _count_units(self.text[0], encoding)
        starts = self._unit_starts(encoding)
        if not 0 <= units <= starts[-1]:
            return None
        index = bisect_right(starts, units) - 1
        if index == len(self._lines):
            return len(self.text)
        line, rest = self._lines[index], units - starts[index]
        count = _count_characters(line, rest, encoding)
        return self._starts[index] + count if _count_units(line[:count], encoding) == rest else None

    def _unit_starts(self, encoding: str) -> list[int]:
        if encoding not in self._units:
            sizes = (_count_units(line, encoding) for line in self._lines)
            self._units[encoding] = list(accumulate(sizes, initial=0))
        return self._units[encoding]


def _count_units(text: str, encoding: str) -> int:
    if text.isascii():
        return len(text)
    return len(_encode_text(text, encoding)) // _WIDTH[encoding]


def _encode_text(text: str, encoding: str) -> bytes:
    # Odd bytes were read as lone surrogates: as UTF-8 each is the byte it was, as UTF-16 the one
    # unit a tool puts in its place.
    return text.encode(encoding, "surrogateescape" if encoding == UTF8 else "surrogatepass")


def _count_characters(text: str, units: int, encoding: str) -> int:
    """Return how many characters `units` code units are; a cut one counts as whole."""
    if text.isascii():
        return min(units, len(text))
    used = 0
    for index, character in enumerate(text):
        if used >= units:
            return index
        used += 1 if character.isascii() else _count_units(character, encoding)
    return len(text)
