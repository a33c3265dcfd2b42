"""Places as people write them: "src/a.py:45-67", "lines 45 to 67", 45, "L45"."""

import re
from typing import Any

from msgspec import Struct

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


class Place(Struct, frozen=True):
    """Lines as far as they were understood; `odd` says what was not."""

    path: str = ""
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    odd: str = ""


def lines(value: Any) -> Place:
    """A line or a range of lines, however it is written."""
    if value is None or isinstance(value, bool):
        return Place()
    if isinstance(value, (int, float)):
        return _from_number(value)
    return _from_text(value) if isinstance(value, str) else _from_parts(value)


def located(text: str) -> Place:
    """A path with or without lines behind it; marks of emphasis and links are taken off."""
    plain = _LINK.sub(_of_link, text).strip().strip("`*\"'<>").strip()[:_LONGEST]
    found = _LOCATED.fullmatch(plain)
    if not found:
        return Place(path=plain)
    place = _from_text(found["lines"])
    return Place(found["path"].strip("`*\"' "), place.line, place.end_line, place.column, place.odd)


def _of_link(link: "re.Match[str]") -> str:
    """The words of a link name the file as a rule; its target has the line where they do not."""
    return link[2] if "#L" in link[2] and ":" not in link[1] else link[1]


def _from_parts(value: Any) -> Place:
    """[45, 67], {"start": 45, "end": 67} or {"line": 45, "column": 3}, or such in such."""
    match value:
        case [first, *others]:
            return _joined(lines(first), lines(others[-1]) if others else Place())
        case {"start": first}:
            return _joined(lines(first), lines(value.get("end")))
        case {"line": first}:
            start = lines(first)
            return Place(
                line=start.line,
                end_line=start.end_line,
                column=lines(value.get("column")).line,
                odd=start.odd,
            )
        case _:
            return Place(odd=_not_understood(value)) if value else Place()


def _from_number(value: float) -> Place:
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):  # noqa: PLR0124  # NaN differs from itself
        return Place(odd=_not_understood(value))
    return (
        Place(line=int(value))
        if value >= 1
        else Place(odd=f"line {int(value)} is no line; the file is kept")
    )


def _from_text(text: str) -> Place:
    found = _RANGE.search(text[:_LONGEST])
    if not found:
        return Place(odd=_not_understood(text)) if text.strip() else Place()
    first, column, last = (int(part) if part else None for part in found.groups())
    return _joined(_from_number(first or 0), _from_number(last) if last else Place(), column)


def _joined(first: Place, last: Place, column: int | None = None) -> Place:
    odd = first.odd or last.odd
    if first.line is None or last.line is None or last.line == first.line:
        return Place(
            line=first.line, end_line=first.end_line, column=column or first.column, odd=odd
        )
    low, high = sorted((first.line, last.line))
    return Place(line=low, end_line=high, column=column or first.column, odd=odd)


def _not_understood(value: object) -> str:
    return f"its line was not understood: {str(value)[:60]!r}"
