"""Parse one finding from a JSON object, whatever its fields are called."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from punchlist.intake.raw_finding import RawFinding, Unreadable, rank_severity, split_headline
from punchlist.model.finding import locations as places
from punchlist.model.finding.guarded_text import parse_json
from punchlist.model.finding.locations import ParsedLocation
from punchlist.model.finding.word_lists import load_words

Entry = Mapping[str, Any]

NAMES = load_words(__file__, "field_names.toml")
LISTS, TITLE, DETAIL, PATH = (NAMES[name] for name in ("lists", "title", "detail", "path"))


def decode_entry(raw: bytes) -> RawFinding:
    """Decode and parse one entry; raise Unreadable if it is no object or has no title."""
    entry = parse_json(raw, object)
    if not isinstance(entry, dict):
        raise Unreadable(f"is {_json_type(entry)}, not an object with a title")
    return parse_entry(entry)


def parse_entry(entry: Entry) -> RawFinding:
    entry = _flatten_entry(entry)
    title, detail = _parse_texts(entry)
    if not title:
        names = ", ".join((*TITLE, *DETAIL))
        raise Unreadable(f"has no title and no description, under none of the names {names}")
    word = find_text(entry, NAMES["severity"])
    severity, odd = rank_severity(word)
    place = parse_place(entry)
    return RawFinding(
        path=place.path,
        title=title,
        severity=severity,
        rule=find_text(entry, NAMES["rule"]),
        line=place.line,
        end_line=place.end_line,
        column=place.column,
        end_column=places.parse_lines(_first_value(entry, NAMES["end_column"])).line,
        label=find_text(entry, NAMES["label"]),
        detail=detail,
        impact=find_text(entry, NAMES["impact"]),
        category=find_text(entry, NAMES["category"]),
        suggestion=find_text(entry, NAMES["suggestion"]),
        url=find_text(entry, NAMES["url"]),
        issue_code=find_text(entry, NAMES["issue_code"]),
        severity_word=word,
        marks=tuple(mark for mark in (odd, place.odd, _status_mark(entry)) if mark),
    )


def parse_place(entry: Entry) -> ParsedLocation:
    """Return file and lines: each from its own field, or all from one text like "src/a.py:45"."""
    start = places.parse_lines(_first_value(entry, NAMES["line"]))
    path = find_text(entry, PATH)
    if start.line is None:
        said = places.parse_location(path)
        start = replace(said, odd=said.odd or start.odd)
        path = said.path
    end = places.parse_lines(_first_value(entry, NAMES["end"])).line
    column = places.parse_lines(_first_value(entry, NAMES["column"])).line or start.column
    if end is None or start.line is None or end < start.line:
        end = start.end_line
    return ParsedLocation(path, start.line, end, column, start.odd)


def find_text(entry: Entry, names: Iterable[str]) -> str:
    """Return the first field's text; lists of texts become lines, numbers digits."""
    for name in names:
        if text := _convert_text(entry.get(name)):
            return text
    return ""


def _parse_texts(entry: Entry) -> tuple[str, str]:
    title, rest = split_headline(find_text(entry, TITLE) or find_text(entry, DETAIL))
    detail = find_text(entry, DETAIL)
    more = detail if detail not in (title, rest) else ""
    return title, "\n\n".join(filter(None, (rest, more)))


def _flatten_entry(entry: Entry) -> dict[str, Any]:
    """Return the entry with fields nested one level down lifted; outer ones win."""
    flat = dict(entry)
    for name in NAMES["nested"]:
        inner = entry.get(name)
        if isinstance(inner, dict):
            flat = {**inner, **{key: value for key, value in flat.items() if key != name}}
    return flat


def _first_value(entry: Entry, names: Iterable[str]) -> Any:
    return next((entry[name] for name in names if entry.get(name) not in (None, "", [], {})), None)


def _convert_text(value: Any) -> str:
    match value:
        case str():
            return value.strip()
        case bool() | None:
            return ""
        case int() | float():
            return str(value)
        case list():
            return "\n".join(text for text in map(_convert_text, value) if text)
        case {"value": inner} | {"text": inner} | {"name": inner} | {"id": inner}:
            return _convert_text(inner)
        case _:
            return ""


def _status_mark(entry: Entry) -> str:
    status = find_text(entry, ("status",)).casefold()
    ended = status in ("fixed", "dismissed", "resolved", "closed")
    return f"its report calls it {status}" if ended else ""


def _json_type(value: object) -> str:
    names = {type(None): "null", str: "a text", list: "a list", bool: "true or false"}
    return names.get(type(value), "a number")
