"""Reviewdog's diagnostic format, as one JSON document (rdjson) or one diagnostic a
line (rdjsonl).
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import decoded, gathered, report_of
from punchlist.intake.raw_finding import Note, Unreadable, headline, ranked
from punchlist.intake.source_files import Sources, proposed
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF8, Positions
from punchlist.ports.analyzer import Analysis

ALTERNATIVES = "it proposes several alternative fixes; a person has to choose"
_NUMBERED = {0: "", 1: "error", 2: "warning", 3: "info"}


class Position(Struct, frozen=True):
    line: int | None = None
    column: int | None = None


class Range(Struct, frozen=True):
    start: Position | None = None
    end: Position | None = None


class Location(Struct, frozen=True):
    path: str | None = None
    range: Range | None = None


class Named(Struct, frozen=True):
    """A tool by its name, or a rule by its value, and where to read about it."""

    name: str | None = None
    value: str | None = None
    url: str | None = None


class Suggestion(Struct, frozen=True):
    range: Range | None = None
    text: str | None = None


class Diagnostic(Struct, frozen=True):
    message: str | None = None
    location: Location | None = None
    severity: str | int | None = None
    source: Named | None = None
    code: Named | None = None
    suggestions: list[Suggestion] | None = None


class Document(Struct, frozen=True):
    """The diagnostics, null where some writers mean none, and what holds for all that do not say
    otherwise.
    """

    diagnostics: list[msgspec.Raw] | None
    source: Named | None = None
    severity: str | int | None = None


class Dialect(Struct, frozen=True):
    """Where writers differ: what a column counts, whether suggestions are parts of one fix or
    alternatives, what words weigh.
    """

    bytewise: bool = True
    one_fix: bool = False
    ranks: dict[str, Severity] = {}


STANDARD = Dialect()


def is_diagnostic(fields: Mapping[str, object]) -> bool:
    return "message" in fields and "location" in fields


@report_of("rdjson")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    return read(output, sources, tool, STANDARD)


def read(output: bytes, sources: Sources, tool: str, dialect: Dialect) -> Analysis:
    """One document of the dialect. Raises msgspec.DecodeError for what is none."""
    document = decoded(output, Document)
    return gathered(
        tool, document.diagnostics or (), _Reader(sources, dialect, document).note, sources
    )


def parse_lines(output: bytes, sources: Sources, tool: str = "rdjsonl") -> Analysis:
    """One diagnostic a line, or a single one over several lines; a line that is none is refused
    alone.
    """
    try:
        entries = [msgspec.json.decode(output, type=msgspec.Raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        entries = [msgspec.Raw(line) for line in output.splitlines() if line.strip()]
    return gathered(tool, entries, _Reader(sources, STANDARD, Document([])).note, sources)


class _Reader:
    def __init__(self, sources: Sources, dialect: Dialect, document: Document) -> None:
        self._sources = sources
        self._dialect = dialect
        self._document = document

    def note(self, raw: bytes) -> Note:
        entry = decoded(raw, Diagnostic, strict=False)
        title, detail = headline(entry.message or "")
        if not title:
            raise Unreadable("has no message")
        location = entry.location or Location()
        span = location.range or Range()
        start, end = span.start or Position(), span.end or Position()
        path = location.path or ""
        positions = self._sources.positions_of(path)
        word = _word(entry.severity) or _word(self._document.severity)
        rank = self._dialect.ranks.get(word.casefold())
        severity, odd = (rank, "") if rank else ranked(word)
        origin, code = entry.source or self._document.source or Named(), entry.code or Named()
        fix, lost = self._fix(entry, path, positions)
        return Note(
            path=path,
            title=title,
            severity=severity,
            rule=code.value or "",
            line=start.line,
            end_line=end.line,
            column=self._column(start, positions),
            end_column=self._column(end, positions),
            detail=detail,
            category=origin.name or "",
            url=code.url or origin.url or "",
            severity_word=word,
            fix=fix,
            marks=(*((odd,) if odd else ()), *lost),
        )

    def _column(self, place: Position, positions: Positions | None) -> int | None:
        line, column = place.line, place.column
        if line is None or column is None or column < 1:
            return None
        if positions is None:
            return column
        return (
            positions.column(line, column - 1, UTF8)
            if self._dialect.bytewise
            else positions.without_mark(line, column)
        )

    def _fix(
        self, entry: Diagnostic, path: str, positions: Positions | None
    ) -> tuple[Fix | None, tuple[str, ...]]:
        """One suggestion is a fix; several are alternatives, and choosing is not ours, unless the
        dialect says otherwise.
        """
        suggestions = entry.suggestions or []
        if len(suggestions) > 1 and not self._dialect.one_fix:
            return None, (ALTERNATIVES,)
        return proposed(
            [self._splice(path, suggestion, positions) for suggestion in suggestions], Safety.UNSAFE
        )

    def _splice(
        self, path: str, suggestion: Suggestion, positions: Positions | None
    ) -> Splice | None:
        span = suggestion.range or Range()
        start, end = span.start or Position(), span.end or Position()
        if positions is None or start.line is None:
            return None
        first = positions.offset(start.line, self._column(start, positions) or 1)
        if end.line and end.column:
            last = positions.offset(end.line, self._column(end, positions) or 0)
        elif start.column and not end.line:
            last = first  # a column and no end: text is inserted
        else:
            last = positions.line_end(end.line or start.line)
        return self._sources.splice(path, first, last, suggestion.text or "")


def _word(severity: str | int | None) -> str:
    if isinstance(severity, str) and severity.isdecimal():
        severity = int(severity)
    word = _NUMBERED.get(severity, str(severity)) if isinstance(severity, int) else severity or ""
    return "" if word.startswith("UNKNOWN") else word
