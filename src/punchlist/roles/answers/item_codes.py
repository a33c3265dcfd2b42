"""Parses agents' names of items: "F007", "7", "f-7", and "F007-2" or "F007.a" for a part."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from punchlist.intake.json_entry import Entry, find_text
from punchlist.roles.answers.lenient_json import CutObject

NAMES = tuple(
    "id code item issue_code finding_id issue_id item_id finding issue key number label".split()
)
_CODE = re.compile(
    r"(?:item|finding|issue|f)?[\s#_-]*0*(?P<number>\d{1,9})(?P<part>(?:\s*[-._:/#(]\s*[\w"
    r" ]{1,24}\)?|\s+[\w ]{1,24}|[a-z])?)",
    re.IGNORECASE,
)
_LONGEST = 80
ReadCode = Callable[[str], tuple[int, str] | None]
"""Returns the number and the part that a name means; None if it means no item."""


def parse_code(name: str) -> tuple[int, str] | None:
    """Return the item's number and the part; None if the name is no item code."""
    plain = name.strip().strip("[]()`*\"'")
    found = _CODE.fullmatch(plain) if len(plain) <= _LONGEST else None
    return (int(found["number"]), re.sub(r"\W+", "", found["part"]).casefold()) if found else None


def find_entries(
    value: object, lists: Iterable[str], field: str, read_code: ReadCode = parse_code
) -> list[tuple[str, Entry]] | None:
    """Return the entries by item name, from a list of objects with names or an object keyed by
    names; None if there are none. A bare value beside a name becomes the `field`; truncated
    entries are left out.
    """
    if isinstance(value, list):
        entries = list(_read_list(value))
        return entries if any(read_code(name) for name, _ in entries) else None
    if not isinstance(value, dict):
        return None
    for name in lists:
        inner = value.get(name)
        if isinstance(inner, list):
            return list(_read_list(inner))
        if isinstance(inner, dict):
            return list(_read_members(inner, field))
    return list(_read_members(value, field)) if any(read_code(name) for name in value) else None


def _read_list(entries: Iterable[object]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        if isinstance(entry, dict) and not isinstance(entry, CutObject):
            yield find_text(entry, NAMES), entry
        elif isinstance(entry, list):
            yield from _read_list(entry)


def _read_members(members: Mapping[str, Any], field: str) -> Iterator[tuple[str, Entry]]:
    for name, said in members.items():
        if isinstance(said, list):
            # The same name came twice: all that was said counts.
            for each in said:
                yield from _read_members({name: each}, field)
        elif isinstance(said, dict):
            if not isinstance(said, CutObject):
                yield name, said
        else:
            yield name, {field: said}
