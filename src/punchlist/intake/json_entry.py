"""One finding as a JSON object, whatever its fields are called: reviewers agree on the things, not
on the names.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from punchlist.intake.raw_finding import Note, Unreadable, headline, ranked
from punchlist.model.finding import locations as places
from punchlist.model.finding.locations import Place

Entry = Mapping[str, Any]

LISTS = ("findings", "items", "pending", "issues", "results", "comments", "problems", "violations")
"""What a list of findings is called in an object."""
TITLE = ("title", "issue", "message", "summary", "problem", "name")
DETAIL = ("detail", "details", "description", "body", "explanation", "rationale", "comment", "text")
IMPACT = ("impact", "why")
PATH = (
    "file_path",
    "file",
    "path",
    "filename",
    "filepath",
    "filePath",
    "file_name",
    "fileName",
    "location",
)
LINE = (
    "line",
    "line_start",
    "start_line",
    "lines",
    "lineno",
    "line_number",
    "lineNumber",
    "startLine",
    "lineStart",
    "range",
)
END = ("line_end", "end_line", "endLine", "lineEnd", "end_lineno")
COLUMN = ("column", "col", "column_start", "start_column", "startColumn", "columnStart")
END_COLUMN = ("end_column", "endColumn", "column_end")
SEVERITY = ("severity", "level", "priority", "rank", "importance", "impact_level")
RULE = ("rule", "rule_id", "ruleId", "rule_name", "code", "check", "check_id", "test_id")
CATEGORY = ("category", "type", "kind", "area")
SUGGESTION = (
    "suggested_fix",
    "fix_hint",
    "suggestion",
    "recommendation",
    "remediation",
    "fix",
    "how_to_fix",
    "suggestedFix",
    "fixHint",
)
LABEL = ("id", "label", "number", "key", "fingerprint")
URL = ("url", "link", "help_uri", "helpUri", "more_info", "documentation")
_NESTED = ("spot", "location", "loc", "position", "finding", "issue")
"""Where some put the place, or the whole finding, one level down."""


def note_of(raw: bytes) -> Note:
    """What one entry says."""
    entry = msgspec.json.decode(raw)
    if not isinstance(entry, dict):
        raise Unreadable(f"is {_kind(entry)}, not an object with a title")
    return note(entry)


def note(entry: Entry) -> Note:
    entry = _flat(entry)
    title, detail = _said(entry)
    if not title:
        raise Unreadable(
            "has no title and no description, under none of the names"
            f" {', '.join((*TITLE, *DETAIL))}"
        )
    word = text_of(entry, SEVERITY)
    severity, odd = ranked(word)
    place = place_of(entry)
    return Note(
        path=place.path,
        title=title,
        severity=severity,
        rule=text_of(entry, RULE),
        line=place.line,
        end_line=place.end_line,
        column=place.column,
        end_column=places.lines(_first(entry, END_COLUMN)).line,
        label=text_of(entry, LABEL),
        detail=detail,
        category=text_of(entry, CATEGORY),
        suggestion=text_of(entry, SUGGESTION),
        url=text_of(entry, URL),
        severity_word=word,
        marks=tuple(mark for mark in (odd, place.odd, _status(entry)) if mark),
    )


def place_of(entry: Entry) -> Place:
    """The file and lines: each from its own field, or all from one text like "src/a.py:45"."""
    start = places.lines(_first(entry, LINE))
    path = text_of(entry, PATH)
    if start.line is None:
        said = places.located(path)
        start = replace(said, odd=said.odd or start.odd)
        path = said.path
    end = places.lines(_first(entry, END)).line
    column = places.lines(_first(entry, COLUMN)).line or start.column
    last = (
        end if end is not None and start.line is not None and end >= start.line else start.end_line
    )
    return Place(path, start.line, last, column, start.odd)


def text_of(entry: Entry, names: Iterable[str]) -> str:
    """The first of the fields that has a text; lists of texts are lines, numbers
    are their digits.
    """
    for name in names:
        if text := _text(entry.get(name)):
            return text
    return ""


def _said(entry: Entry) -> tuple[str, str]:
    title, rest = headline(text_of(entry, TITLE) or text_of(entry, DETAIL))
    detail = text_of(entry, DETAIL)
    impact = text_of(entry, IMPACT)
    parts = [
        part
        for part in (
            rest,
            detail if detail not in (title, rest) else "",
            impact and f"Impact: {impact}",
        )
        if part
    ]
    return title, "\n\n".join(parts)


def _flat(entry: Entry) -> dict[str, Any]:
    """The entry with what is nested one level down beside the rest; what stands above wins."""
    flat = dict(entry)
    for name in _NESTED:
        inner = entry.get(name)
        if isinstance(inner, dict):
            flat = {**inner, **{key: value for key, value in flat.items() if key != name}}
    return flat


def _first(entry: Entry, names: Iterable[str]) -> Any:
    return next((entry[name] for name in names if entry.get(name) not in (None, "", [], {})), None)


def _text(value: Any) -> str:
    match value:
        case str():
            return value.strip()
        case bool() | None:
            return ""
        case int() | float():
            return str(value)
        case list():
            return "\n".join(text for text in map(_text, value) if text)
        case {"value": inner} | {"text": inner} | {"name": inner} | {"id": inner}:
            return _text(inner)
        case _:
            return ""


def _status(entry: Entry) -> str:
    status = text_of(entry, ("status",)).casefold()
    return (
        f"its report calls it {status}"
        if status in ("fixed", "dismissed", "resolved", "closed")
        else ""
    )


def _kind(value: object) -> str:
    return {type(None): "null", str: "a text", list: "a list", bool: "true or false"}.get(
        type(value), "a number"
    )
