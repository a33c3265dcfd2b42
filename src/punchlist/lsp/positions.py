"""Convert places in a text to the positions of the protocol, whose columns count code units."""

from lsprotocol import types

from punchlist.model.finding.finding import Spot
from punchlist.model.patch.line_table import LineTable

_WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


class DocumentPositions:
    """The text of one document; `encoding` is what its client counts columns in."""

    def __init__(self, text: str, encoding: str) -> None:
        self._table = LineTable(text)
        self._encoding = encoding

    def make_range(self, start: int, end: int) -> types.Range:
        """Return the range between two offsets."""
        return types.Range(start=self._make_position(start), end=self._make_position(end))

    def locate_spot(self, spot: Spot) -> types.Range:
        """Return the range of a finding, in this text or as near to it as can be: the line, if it
        has no columns, and the first line, if it has no line.
        """
        table = self._table
        line = min(max(spot.line or 1, 1), max(table.count, 1))
        line_end = table.line_end(line) or 0
        if spot.line is None or spot.column is None:
            start = table.nearest_offset(line, 1)
            indent = len(table.text[start:line_end]) - len(table.text[start:line_end].lstrip())
            return self.make_range(start + indent, max(line_end, start + indent))
        start = table.nearest_offset(spot.line, spot.column)
        end = line_end
        if spot.end_column is not None:
            end = table.nearest_offset(spot.last_line or spot.line, spot.end_column)
        return self.make_range(start, max(start, end))

    def _make_position(self, offset: int) -> types.Position:
        line = self._table.find_place(offset)[0]
        before = self._table.text[self._table.line_start(line) : offset]
        return types.Position(line=line - 1, character=self._count_units(before))

    def _count_units(self, text: str) -> int:
        if text.isascii() or self._encoding not in _WIDTHS:  # utf-32 counts code points
            return len(text)
        codec, width = _WIDTHS[self._encoding]
        return len(text.encode(codec, "surrogatepass")) // width
