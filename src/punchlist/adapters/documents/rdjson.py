"""reviewdog's Diagnostic Format, as one document (rdjson) or one diagnostic a line (rdjsonl)."""

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import Struct

from punchlist.adapters.analyzers.positions import UTF8
from punchlist.adapters.analyzers.reports import Unreadable, gathered
from punchlist.adapters.analyzers.sources import Note, Sources, proposed
from punchlist.adapters.documents.entries import headline
from punchlist.adapters.documents.places import line_end
from punchlist.model.finding import Fix, Safety
from punchlist.model.severity import severity_of
from punchlist.ports import Analysis


class Position(Struct, frozen=True):
    line: int | None = None
    column: int | None = None
    """In bytes of UTF-8, from 1."""


class Range(Struct, frozen=True):
    start: Position | None = None
    end: Position | None = None


class Location(Struct, frozen=True):
    path: str | None = None
    range: Range | None = None


class Code(Struct, frozen=True):
    value: str | None = None
    url: str | None = None


class Origin(Struct, frozen=True):
    name: str | None = None
    url: str | None = None


class Suggestion(Struct, frozen=True):
    range: Range | None = None
    text: str | None = None


class Diagnostic(Struct, frozen=True):
    message: str | None = None
    location: Location | None = None
    severity: str | int | None = None
    source: Origin | None = None
    code: Code | None = None
    suggestions: list[Suggestion] | None = None
    original_output: str | None = None


class Result(Struct, frozen=True):
    diagnostics: list[msgspec.Raw]
    source: Origin | None = None
    severity: str | int | None = None


_NUMBERED = {0: "", 1: "error", 2: "warning", 3: "info"}


def is_diagnostic(fields: Mapping[str, object]) -> bool:
    return "message" in fields and "location" in fields


def read(name: str, content: bytes, sources: Sources) -> Analysis:
    result = msgspec.json.decode(content, type=Result)
    return gathered(name, result.diagnostics, partial(_note, result, sources), sources)


def read_lines(name: str, content: bytes, sources: Sources) -> Analysis:
    """One diagnostic a line, or a single one over several lines."""
    try:
        diagnostics = [msgspec.json.decode(content, type=msgspec.Raw)]
    except msgspec.DecodeError:
        diagnostics = [msgspec.Raw(line) for line in content.splitlines() if line.strip()]
    return gathered(name, diagnostics, partial(_note, Result([]), sources), sources)


def _note(result: Result, sources: Sources, raw: bytes) -> Note:
    diagnostic = msgspec.json.decode(raw, type=Diagnostic, strict=False)
    if not diagnostic.message or not diagnostic.message.strip():
        raise Unreadable("has no message")
    location = diagnostic.location or Location()
    where = location.range or Range()
    start, end = where.start or Position(), where.end or Position()
    path = location.path or ""
    word = _word(diagnostic.severity) or _word(result.severity)
    severity, known = severity_of(word)
    title, detail = headline(diagnostic.message)
    origin = diagnostic.source or result.source or Origin()
    code = diagnostic.code or Code()
    fix, lost = _fix(diagnostic, path, sources)
    return Note(
        path=path,
        title=title,
        severity=severity,
        rule=code.value or "",
        line=start.line,
        end_line=end.line,
        column=_column(start, path, sources),
        end_column=_column(end, path, sources),
        detail=detail,
        category=origin.name or "",
        url=code.url or origin.url or "",
        severity_word=word,
        fix=fix,
        marks=(*(() if known else (f'severity "{word}" is not known, ranked major',)), *lost),
    )


def _word(severity: str | int | None) -> str:
    if isinstance(severity, str) and severity.isdecimal():
        severity = int(severity)
    word = _NUMBERED.get(severity, str(severity)) if isinstance(severity, int) else severity or ""
    return "" if word.startswith("UNKNOWN") else word


def _column(position: Position, path: str, sources: Sources) -> int | None:
    if position.line is None or position.column is None or position.column < 1:
        return None
    positions = sources.positions_of(path)
    return positions.column(position.line, position.column - 1, UTF8) if positions else position.column


def _fix(diagnostic: Diagnostic, path: str, sources: Sources) -> tuple[Fix | None, tuple[str, ...]]:
    """One suggestion is a fix; several are alternatives, and choosing is not ours."""
    match diagnostic.suggestions:
        case [Suggestion(range=Range(start=Position() as start) as span, text=str() as text)]:
            splice = sources.splice(path, _offset(start, path, sources), _end(start, span.end, path, sources), text)
            return proposed([splice], Safety.UNSAFE)
        case [_, _, *_]:
            return None, ("several alternative fixes are suggested; none was taken",)
        case _:
            return None, ()


def _offset(position: Position, path: str, sources: Sources) -> int | None:
    positions = sources.positions_of(path)
    if positions is None or position.line is None:
        return None
    return positions.offset(position.line, _column(position, path, sources) or 1)


def _end(start: Position, end: Position | None, path: str, sources: Sources) -> int | None:
    """Without an end a suggestion inserts; with an end that has no column it takes the whole line."""
    if end is None or end.line is None:
        return _offset(start, path, sources)
    if end.column is not None:
        return _offset(end, path, sources)
    positions = sources.positions_of(path)
    return line_end(positions, end.line) if positions else None
