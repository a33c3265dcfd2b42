"""Reviewdog's diagnostic format, as one JSON document or one diagnostic a line."""

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.positions import UTF8, Positions
from punchlist.adapters.analyzers.reports import Unreadable, broken, decoded, gathered
from punchlist.adapters.analyzers.sources import Note, Sources, proposed
from punchlist.model.finding import Fix, Safety, Splice
from punchlist.model.severity import Severity, severity_of
from punchlist.ports import Analysis

ALTERNATIVES = "it proposes several alternative fixes; a person has to choose"
_NUMBERS = {1: "error", 2: "warning", 3: "info"}


class Position(Struct, frozen=True):
    line: int = 0
    column: int = 0


class Range(Struct, frozen=True):
    start: Position | None = None
    end: Position | None = None


class Location(Struct, frozen=True):
    path: str = ""
    range: Range = Range()


class Code(Struct, frozen=True):
    value: str = ""
    url: str = ""


class Suggestion(Struct, frozen=True):
    range: Range
    text: str = ""


class Diagnostic(Struct, frozen=True):
    message: str
    location: Location
    severity: str | int | None = None
    code: Code | None = None
    suggestions: list[Suggestion] | None = None


class Document(Struct, frozen=True):
    diagnostics: list[msgspec.Raw] | None
    severity: str | int | None = None


class Dialect(Struct, frozen=True):
    """Where writers differ: what a column counts, whether suggestions are parts of one fix or alternatives, what words weigh."""

    bytewise: bool = True
    one_fix: bool = False
    ranks: dict[str, Severity] = {}


STANDARD = Dialect()


def parse(output: bytes, sources: Sources, tool: str = "rdjson", dialect: Dialect = STANDARD) -> Analysis:
    try:
        document = decoded(output, Document)
    except msgspec.DecodeError as error:
        return broken(tool, output, error)
    reader = _Reader(sources, dialect, document.severity)
    return gathered(tool, document.diagnostics or (), reader.note, sources)


def parse_lines(output: bytes, sources: Sources, tool: str = "rdjsonl") -> Analysis:
    """One diagnostic a line; a line that is none is refused alone."""
    entries = [msgspec.Raw(line) for line in output.splitlines() if line.strip()]
    return gathered(tool, entries, _Reader(sources, STANDARD, None).note, sources)


class _Reader:
    def __init__(self, sources: Sources, dialect: Dialect, severity: str | int | None) -> None:
        self._sources = sources
        self._dialect = dialect
        self._severity = severity

    def note(self, raw: bytes) -> Note:
        entry = decoded(raw, Diagnostic)
        if not entry.message.strip():
            raise Unreadable("it has no message")
        start, end = entry.location.range.start, entry.location.range.end
        positions = self._sources.positions_of(entry.location.path)
        word = _word(entry.severity if entry.severity is not None else self._severity)
        severity, known = (self._dialect.ranks[word], True) if word in self._dialect.ranks else severity_of(word)
        fix, marks = self._fix(entry, positions)
        lines = entry.message.strip().splitlines()
        return Note(
            path=entry.location.path,
            title=lines[0],
            detail="\n".join(lines) if len(lines) > 1 else "",
            severity=severity,
            severity_word=word,
            rule=entry.code.value if entry.code else "",
            url=entry.code.url if entry.code else "",
            line=start.line if start and start.line > 0 else None,
            end_line=end.line if end and end.line > 0 else None,
            column=self._column(start, positions),
            end_column=self._column(end, positions),
            fix=fix,
            marks=marks if known else (*marks, f"unknown severity {word!r}"),
        )

    def _column(self, place: Position | None, positions: Positions | None) -> int | None:
        if place is None or place.line < 1 or place.column < 1:
            return None
        if positions is None:
            return place.column
        if self._dialect.bytewise:
            return positions.column(place.line, place.column - 1, UTF8)
        return positions.without_mark(place.line, place.column)

    def _fix(self, entry: Diagnostic, positions: Positions | None) -> tuple[Fix | None, tuple[str, ...]]:
        suggestions = entry.suggestions or []
        if not suggestions:
            return None, ()
        if len(suggestions) > 1 and not self._dialect.one_fix:
            return None, (ALTERNATIVES,)
        return proposed([self._splice(entry.location.path, suggestion, positions) for suggestion in suggestions], Safety.UNSAFE)

    def _splice(self, path: str, suggestion: Suggestion, positions: Positions | None) -> Splice | None:
        start, end = suggestion.range.start, suggestion.range.end or suggestion.range.start
        if positions is None or start is None or end is None:
            return None
        if not start.column:
            # Without columns a suggestion replaces whole lines.
            first, last = positions.offset(start.line, 1), positions.line_end(end.line)
        else:
            first = positions.offset(start.line, self._column(start, positions) or 0)
            last = positions.offset(end.line, self._column(end, positions) or 0)
        return self._sources.splice(path, first, last, suggestion.text)


def _word(severity: str | int | None) -> str:
    return _NUMBERS.get(severity, "") if isinstance(severity, int) else (severity or "").casefold()
