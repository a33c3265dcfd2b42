"""Parse locations as people write them: "src/a.py:45-67", "lines 45 to 67", 45, "L45"."""

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

_RANGE = re.compile(
    r"L?(\d{1,9})(?::(\d{1,9}))?(?:\s*(?:-|\u2013|\u2014|to|\.\.|,)\s*L?(\d{1,9}))?", re.IGNORECASE
)
_LOCATED = re.compile(
    r"(?P<path>.*?\S)\s*(?::|#|,?\s\(?(?=lines?\b)|\s\()\s*(?:lines?\s*:?\s*)?(?P<lines>L?\d{1,9}\b[^()]*)\)?",
    re.IGNORECASE,
)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]*)\)")
_LONGEST = 1024
"""A text beyond this is cut before a pattern sees it."""


class ParsedLocation(Struct, frozen=True):
    """A parsed location; `odd` says what could not be parsed."""

    path: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    odd: str = ""


def parse_lines(value: Any) -> ParsedLocation:
    """Parse a line or a range of lines: a number, text, list or mapping."""
    if value is None or isinstance(value, bool):
        return ParsedLocation()
    if isinstance(value, (int, float)):
        return _parse_number(value)
    return _parse_text(value) if isinstance(value, str) else _parse_parts(value)


def parse_location(text: str) -> ParsedLocation:
    """Parse a path with or without lines behind it; emphasis and links are removed."""
    plain = _LINK.sub(_unwrap_link, text).strip().strip("`*\"'<>").strip()[:_LONGEST]
    found = _LOCATED.fullmatch(plain)
    if not found:
        return ParsedLocation(path=plain)
    return replace(_parse_text(found["lines"]), path=found["path"].strip("`*\"' "))


def _unwrap_link(link: "re.Match[str]") -> str:
    """Return the link's text, or its target if only that has the line."""
    return link[2] if "#L" in link[2] and ":" not in link[1] else link[1]


def _parse_parts(value: Any) -> ParsedLocation:
    """Parse [45, 67], {"start": 45, "end": 67} or {"line": 45, "column": 3}; may be nested."""
    match value:
        case [first, *others]:
            return _join_range(parse_lines(first), parse_lines(others[-1] if others else None))
        case {"start": first}:
            return _join_range(parse_lines(first), parse_lines(value.get("end")))
        case {"line": first}:
            return replace(parse_lines(first), column=parse_lines(value.get("column")).line)
        case _:
            return ParsedLocation(odd=_explain_odd(value)) if value else ParsedLocation()


def _parse_number(value: float) -> ParsedLocation:
    if isinstance(value, float) and not value.is_integer():
        return ParsedLocation(odd=_explain_odd(value))
    if value >= 1:
        return ParsedLocation(line=int(value))
    return ParsedLocation(odd=f"line {int(value)} is no line; the file is kept")


def _parse_text(text: str) -> ParsedLocation:
    found = _RANGE.search(text[:_LONGEST])
    if not found:
        return ParsedLocation(odd=_explain_odd(text)) if text.strip() else ParsedLocation()
    first, column, last = (int(part) if part else None for part in found.groups())
    return _join_range(_parse_number(first or 0), parse_lines(last or None), column)


def _join_range(
    first: ParsedLocation, last: ParsedLocation, column: int | None = None
) -> ParsedLocation:
    low, high = first.line, first.end_line
    if first.line is not None and last.line is not None and last.line != first.line:
        low, high = sorted((first.line, last.line))
    odd = first.odd or last.odd
    return ParsedLocation(line=low, end_line=high, column=column or first.column, odd=odd)


def _explain_odd(value: object) -> str:
    return f"its line was not understood: {str(value)[:60]!r}"
