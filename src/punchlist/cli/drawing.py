"""Text with styles, tables and indents, drawn as lines of a given width."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, Protocol, Self
from unicodedata import category, east_asian_width

Span = tuple[str, str]
"""Text, and its style in words: "bold red"; "none" ends what stands before it."""
Line = list[Span]
Overflow = Literal["fold", "ellipsis", "crop"]
"""What becomes of a word that is wider than a line, or of a line that must not be wrapped."""

ENDLESS = 1 << 30
"""A width at which nothing is cut."""
_CODES = {"bold": 1, "dim": 2, "italic": 3, "red": 31, "green": 32, "yellow": 33} | {
    "blue": 34,
    "cyan": 36,
}
_WORD = re.compile(r"\s*\S+\s*")
_MARKS = ("Mn", "Me")
_CONTROLS = dict.fromkeys(map(ord, "\a\b\v\f\r"))
_TAB = 8


class Drawable(Protocol):
    no_wrap: bool
    """Whether it is one line for programs, which only a terminal may wrap."""

    def draw(self, width: int) -> Iterator[Line]:
        """Yield its lines, none of them wider."""


Part = str | Drawable
"""What commands print; a str is a text without styles."""


class Text:
    """Text in which each stretch has a style, on top of that of the whole."""

    def __init__(
        self,
        text: str = "",
        style: str = "",
        *,
        overflow: Overflow | None = None,
        no_wrap: bool = False,
    ) -> None:
        self._style = style
        self._spans: list[Span] = []
        self.overflow = overflow
        self.no_wrap = no_wrap
        self.append(text)

    @classmethod
    def assemble(
        cls, *parts: str | Span, overflow: Overflow | None = None, no_wrap: bool = False
    ) -> Self:
        made = cls(overflow=overflow, no_wrap=no_wrap)
        for part in parts:
            made.append(*((part,) if isinstance(part, str) else part))
        return made

    def append(self, text: str, style: str = "") -> Self:
        self._spans.append((text.translate(_CONTROLS), f"{self._style} {style}".strip()))
        return self

    def measure(self) -> int:
        """Return the columns of its widest line."""
        return max(sum(measure(text) for text, _ in line) for line in self._split_lines())

    def draw(self, width: int) -> Iterator[Line]:
        return self.fit(width, overflow="fold", no_wrap=False)

    def fit(self, width: int, *, overflow: Overflow, no_wrap: bool) -> Iterator[Line]:
        """Yield its lines; what it does not say itself about overflow is said here."""
        overflow = self.overflow or overflow
        for line in self._split_lines():
            if self.no_wrap or no_wrap:
                yield _shorten(line, width, overflow)
                continue
            text = "".join(part for part, _ in line)
            places = [0, *_find_breaks(text, width, fold=overflow == "fold"), len(text)]
            for start, end in pairwise(places):
                kept = end if end == len(text) else start + len(text[start:end].rstrip())
                yield _shorten(_cut(line, start, kept), width, overflow)

    def _split_lines(self) -> Iterator[Line]:
        line: Line = []
        for text, style in self._spans:
            first, *rest = text.split("\n")
            line.append((first, style))
            for each in rest:
                yield _expand_tabs(line)
                line = [(each, style)]
        yield _expand_tabs(line)


class Indent:
    """A part further to the right, below some empty lines."""

    no_wrap = False

    def __init__(self, part: Text, left: int, above: int = 0) -> None:
        self._part, self._left, self._above = part, left, above

    def draw(self, width: int) -> Iterator[Line]:
        yield from ([] for _ in range(self._above))
        for line in self._part.draw(max(width - self._left, 1)):
            yield [(" " * self._left, ""), *line]


class Column(NamedTuple):
    heading: str = ""
    style: str = ""
    overflow: Overflow = "ellipsis"
    no_wrap: bool = False
    right: bool = False
    """Whether its cells end at its right side."""
    least: int = 0
    """Columns of the terminal that it has at least."""


class Table:
    """Rows of cells with `gap` spaces between them; a first row of headings, if there are any."""

    no_wrap = False

    def __init__(self, *columns: Column, gap: int) -> None:
        self._columns, self._gap = columns, gap
        self._rows: list[tuple[Text, ...]] = []
        if any(column.heading for column in columns):
            self._rows.append(tuple(Text(column.heading, "bold") for column in columns))

    def add_row(self, *cells: str | Text) -> None:
        self._rows.append(tuple(Text(cell) if isinstance(cell, str) else cell for cell in cells))

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def draw(self, width: int) -> Iterator[Line]:
        widths = self._choose_widths(width)
        for row in self._rows:
            cells = [
                list(cell.fit(max(wide, 1), overflow=each.overflow, no_wrap=each.no_wrap))
                for cell, wide, each in zip(row, widths, self._columns, strict=True)
            ]
            for number in range(max(map(len, cells), default=0)):
                yield self._join_cells(
                    [c[number] if number < len(c) else [] for c in cells], widths
                )

    def _join_cells(self, cells: Sequence[Line], widths: Sequence[int]) -> Line:
        line: Line = []
        for place, (cell, wide, column) in enumerate(
            zip(cells, widths, self._columns, strict=True), start=1
        ):
            free = " " * (wide - sum(measure(text) for text, _ in cell))
            styled = [(text, f"{column.style} {style}".strip()) for text, style in cell]
            line += [(free, ""), *styled] if column.right else styled
            if place < len(cells):
                line.append((" " * self._gap if column.right else free + " " * self._gap, ""))
        return line

    def _choose_widths(self, width: int) -> list[int]:
        """Return the widths of the columns without gaps: the widest that may be wrapped give way
        first, then all, from the last on.
        """
        gaps = [self._gap] * (len(self._columns) - 1) + [0]
        widths = [
            max([column.least, *(row[at].measure() for row in self._rows)]) + gap
            for at, (column, gap) in enumerate(zip(self._columns, gaps, strict=True))
        ]
        wrapped = [at for at, column in enumerate(self._columns) if not column.no_wrap]
        while wrapped and (excess := sum(widths) - width) > 0:
            most = max(widths[at] for at in wrapped)
            widest = [at for at in wrapped if widths[at] == most]
            below = max((widths[at] for at in wrapped if widths[at] < most), default=0)
            if most <= self._gap + 1:
                break
            for left, at in zip(range(len(widest), 0, -1), widest, strict=True):
                cut = min(round(excess / left), most - max(below, self._gap + 1))
                widths[at] -= cut
                excess -= cut
        for at in reversed(range(len(widths))):
            widths[at] -= max(min(widths[at] - gaps[at] - 1, sum(widths) - width), 0)
        return [wide - gap for wide, gap in zip(widths, gaps, strict=True)]


def draw_lines(parts: Iterable[Part], width: int, *, colours: bool = False) -> Iterator[str]:
    """Yield the lines of the parts as they are written."""
    for part in parts:
        drawable = Text(part) if isinstance(part, str) else part
        for line in drawable.draw(width):
            yield "".join(_write_span(span, colours=colours) for span in line)


def _write_span(span: Span, *, colours: bool) -> str:
    text, style = span
    _, _, last = f" {style} ".rpartition(" none ")  # no style, whatever that of the whole is
    codes = ";".join(str(_CODES[word]) for word in last.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if colours and codes and text else text


def measure(text: str) -> int:
    """Return the columns of a text: two for wide letters, none for marks on others."""
    if text.isascii():
        return len(text)
    return sum(map(_measure_char, text))


def _measure_char(char: str) -> int:
    if east_asian_width(char) in "WF":
        return 2
    return 0 if category(char) in _MARKS or char == "\u200d" else 1


def _expand_tabs(line: Line) -> Line:
    if not any("\t" in text for text, _ in line):
        return line
    expanded: Line = []
    at = 0
    for text, style in line:
        first, *rest = text.split("\t")
        pieces = [first]
        at += measure(first)
        for each in rest:
            blank = _TAB - at % _TAB
            pieces.append(" " * blank + each)
            at += blank + measure(each)
        expanded.append(("".join(pieces), style))
    return expanded


def _cut(line: Line, start: int, end: int) -> Line:
    """Return the characters of a line from `start` to `end`."""
    kept: Line = []
    at = 0
    for text, style in line:
        if piece := text[max(start - at, 0) : max(end - at, 0)]:
            kept.append((piece, style))
        at += len(text)
    return kept


def _shorten(line: Line, width: int, overflow: Overflow) -> Line:
    """Return the line, cut to the width; an ellipsis stands for the rest."""
    if sum(measure(text) for text, _ in line) <= width:
        return line
    text = "".join(part for part, _ in line)
    room = width - 1 if overflow == "ellipsis" else width
    end = _count_fitting(text, room)
    kept = _cut(line, 0, end)
    return [*kept, ("…", kept[-1][1] if kept else "")] if overflow == "ellipsis" else kept


def _count_fitting(text: str, width: int) -> int:
    """Return how many of the first characters fit."""
    used = 0
    for place, char in enumerate(text):
        used += _measure_char(char)
        if used > width:
            return place
    return len(text)


def _find_breaks(text: str, width: int, *, fold: bool) -> Iterator[int]:
    """Yield where a line is broken: before words that do not fit, and inside of words that fit in
    no line if they are to be folded.
    """
    if measure(text) <= width:
        return
    used = 0
    for match in _WORD.finditer(text):
        start, word = match.start(), match[0]
        length = measure(word.rstrip())
        if used + length <= width:
            used += measure(word)
            continue
        if used:
            yield start
        used = measure(word)
        while fold and measure(word.rstrip()) > width:
            fitting = max(_count_fitting(word, width), 1)
            start, word = start + fitting, word[fitting:]
            yield start
            used = measure(word)
