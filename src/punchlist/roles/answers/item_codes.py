"""What agents call items: "F007", "7", "f-7", and "F007-2" or "F007.a" for a part of it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from punchlist.intake.json_entry import Entry, text_of
from punchlist.roles.answers.lenient_json import Cut

NAMES = (
    "id",
    "code",
    "item",
    "issue_code",
    "finding_id",
    "issue_id",
    "item_id",
    "finding",
    "issue",
    "key",
    "number",
    "label",
)
_CODE = re.compile(
    r"(?:item|finding|issue|f)?[\s#_-]*0*(?P<number>\d{1,9})(?P<part>(?:\s*[-._:/#(]\s*[\w"
    r" ]{1,24}\)?|\s+[\w ]{1,24}|[a-z])?)",
    re.IGNORECASE,
)
_LONGEST = 80


def item_of(name: str) -> tuple[int, str] | None:
    """The item a name means, and the part of it; None where it is no name of an item."""
    plain = name.strip().strip("[]()`*\"'")
    found = _CODE.fullmatch(plain) if len(plain) <= _LONGEST else None
    return (int(found["number"]), re.sub(r"\W+", "", found["part"]).casefold()) if found else None


def told(value: object, lists: Iterable[str], field: str) -> list[tuple[str, Entry]] | None:
    """What is said of items, by their names: from a list of objects that name them, or an object
    that has them as names.

    A bare word or number beside a name is the `field`. None where nothing of the kind is there;
    what breaks off is left out.
    """
    if isinstance(value, list):
        entries = list(_listed(value))
        return entries if any(item_of(name) for name, _ in entries) else None
    if not isinstance(value, dict):
        return None
    for name in lists:
        inner = value.get(name)
        if isinstance(inner, list):
            return list(_listed(inner))
        if isinstance(inner, dict):
            return list(_named(inner, field))
    return list(_named(value, field)) if any(item_of(name) for name in value) else None


def _listed(entries: Iterable[object]) -> Iterator[tuple[str, Entry]]:
    for entry in entries:
        if isinstance(entry, dict) and not isinstance(entry, Cut):
            yield text_of(entry, NAMES), entry
        elif isinstance(entry, list):
            yield from _listed(entry)


def _named(members: Mapping[str, Any], field: str) -> Iterator[tuple[str, Entry]]:
    for name, said in members.items():
        if isinstance(said, list):
            # The same name came twice: all that was said counts.
            yield from (
                (name, entry)
                for _, entry in _named({str(at): each for at, each in enumerate(said)}, field)
            )
        elif isinstance(said, dict):
            if not isinstance(said, Cut):
                yield name, said
        else:
            yield name, {field: said}
