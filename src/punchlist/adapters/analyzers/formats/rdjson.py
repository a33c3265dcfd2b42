"""Reviewdog's diagnostic format: one JSON document (rdjson), or a diagnostic per line (rdjsonl)."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.entries import collect_findings, decode_json, report_parser
from punchlist.intake.raw_finding import RawFinding, Unreadable, rank_severity, split_headline
from punchlist.intake.source_files import Sources, make_fix
from punchlist.model.finding.finding import Fix, Safety, Splice
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.severity import Severity
from punchlist.model.patch.text_positions import UTF8, Positions
from punchlist.ports.analyzer import Analysis

ALTERNATIVES = "it proposes several alternative fixes; a person has to choose"
_NUMBERED = {0: "", 1: "error", 2: "warning", 3: "info"}


class Position(Struct, frozen=True):
    line: int | None = None
    column: int | None = None


class RdjsonRange(Struct, frozen=True):
    start: Position | None = None
    end: Position | None = None


class RdjsonLocation(Struct, frozen=True):
    path: str | None = None
    range: RdjsonRange | None = None


class RdjsonName(Struct, frozen=True):
    """A tool's name or a rule's value, with its URL."""

    name: str | None = None
    value: str | None = None
    url: str | None = None


class RdjsonSuggestion(Struct, frozen=True):
    range: RdjsonRange | None = None
    text: str | None = None


class Diagnostic(Struct, frozen=True):
    message: str | None = None
    location: RdjsonLocation | None = None
    severity: str | int | None = None
    source: RdjsonName | None = None
    code: RdjsonName | None = None
    suggestions: list[RdjsonSuggestion] | None = None


class RdjsonDocument(Struct, frozen=True):
    """The diagnostics (some tools write null for none), with their default source and severity."""

    diagnostics: list[msgspec.Raw] | None
    source: RdjsonName | None = None
    severity: str | int | None = None


class RdjsonDialect(Struct, frozen=True):
    """Differences between tools: columns in bytes or characters, suggestions as parts of one fix or
    as alternatives, severity words.
    """

    bytewise: bool = True
    one_fix: bool = False
    ranks: dict[str, Severity] = {}


STANDARD = RdjsonDialect()


def is_diagnostic(fields: Mapping[str, object]) -> bool:
    return "message" in fields and "location" in fields


@report_parser("rdjson")
def parse(output: bytes, sources: Sources, tool: str) -> Analysis:
    return parse_dialect(output, sources, tool, STANDARD)


def parse_dialect(output: bytes, sources: Sources, tool: str, dialect: RdjsonDialect) -> Analysis:
    """Parse one document of the dialect. Raise msgspec.DecodeError if it is not one."""
    document = decode_json(output, RdjsonDocument)
    reader = _RdjsonReader(sources, dialect, document)
    return collect_findings(tool, document.diagnostics or (), reader.make_note, sources)


def parse_lines(output: bytes, sources: Sources, tool: str = "rdjsonl") -> Analysis:
    """Parse one diagnostic per line, or a single one over several lines; refuse bad lines alone."""
    try:
        entries = [parse_json(output, msgspec.Raw)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        entries = [msgspec.Raw(line) for line in output.splitlines() if line.strip()]
    reader = _RdjsonReader(sources, STANDARD, RdjsonDocument([]))
    return collect_findings(tool, entries, reader.make_note, sources)


class _RdjsonReader:
    def __init__(self, sources: Sources, dialect: RdjsonDialect, document: RdjsonDocument) -> None:
        self._sources = sources
        self._dialect = dialect
        self._document = document

    def make_note(self, raw: bytes) -> RawFinding:
        entry = decode_json(raw, Diagnostic, strict=False)
        title, detail = split_headline(entry.message or "")
        if not title:
            raise Unreadable("has no message")
        location = entry.location or RdjsonLocation()
        span = location.range or RdjsonRange()
        start, end = span.start or Position(), span.end or Position()
        path = location.path or ""
        positions = self._sources.reported_positions(path)
        word = _severity_word(entry.severity) or _severity_word(self._document.severity)
        rank = self._dialect.ranks.get(word.casefold())
        severity, odd = (rank, "") if rank else rank_severity(word)
        origin = entry.source or self._document.source or RdjsonName()
        code = entry.code or RdjsonName()
        fix, lost = self._make_fix(entry, path, positions)
        return RawFinding(
            path=path,
            title=title,
            severity=severity,
            rule=code.value or "",
            line=start.line,
            end_line=end.line,
            column=self._find_column(start, positions),
            end_column=self._find_column(end, positions),
            detail=detail,
            category=origin.name or "",
            url=code.url or origin.url or "",
            severity_word=word,
            fix=fix,
            marks=(*((odd,) if odd else ()), *lost),
        )

    def _find_column(self, place: Position, positions: Positions | None) -> int | None:
        line, column = place.line, place.column
        if line is None or column is None or column < 1:
            return None
        if positions is None:
            return column
        if self._dialect.bytewise:
            return positions.convert_column(line, column - 1, UTF8)
        return positions.skip_mark(line, column)

    def _make_fix(
        self, entry: Diagnostic, path: str, positions: Positions | None
    ) -> tuple[Fix | None, tuple[str, ...]]:
        """Return the only suggestion as the fix; several only if the dialect says `one_fix`."""
        suggestions = entry.suggestions or []
        if len(suggestions) > 1 and not self._dialect.one_fix:
            return None, (ALTERNATIVES,)
        splices = [self._make_splice(path, suggestion, positions) for suggestion in suggestions]
        return make_fix(splices, Safety.UNSAFE)

    def _make_splice(
        self, path: str, suggestion: RdjsonSuggestion, positions: Positions | None
    ) -> Splice | None:
        span = suggestion.range or RdjsonRange()
        start, end = span.start or Position(), span.end or Position()
        if positions is None or start.line is None:
            return None
        first = positions.offset(start.line, self._find_column(start, positions) or 1)
        if end.line and end.column:
            last = positions.offset(end.line, self._find_column(end, positions) or 0)
        elif start.column and not end.line:
            last = first  # a column and no end: text is inserted
        else:
            last = positions.line_end(end.line or start.line)
        return self._sources.make_splice(path, first, last, suggestion.text or "")


def _severity_word(severity: str | int | None) -> str:
    if isinstance(severity, str) and severity.isdecimal():
        severity = int(severity)
    word = _NUMBERED.get(severity, str(severity)) if isinstance(severity, int) else severity or ""
    return "" if word.startswith("UNKNOWN") else word
