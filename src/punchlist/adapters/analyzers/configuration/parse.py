"""Parse configuration files of any spelling, and find the values of keys in them."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from punchlist.model.finding.guarded_text import parse_ini, parse_json, parse_toml
from punchlist.model.finding.late_pattern import late_pattern

_JSON_PARTS = late_pattern(
    r'"(?:\\.|[^"\\])*+"|//[^\n]*+|/\*(?>.*?(?:\*/|\Z))'
    r"|,(?=(?:\s|//[^\n]*+|/\*(?>.*?(?:\*/|\Z)))*+[}\]])",
    re.DOTALL,
)
_SEPARATOR = late_pattern(r"[,\n]")


class UnusableConfigurationError(Exception):
    """A configuration that is not used, and why."""


def parse_configuration(path: str, text: str) -> dict[str, Any]:
    """Parse TOML, JSON with comments, or INI, by the file's name; raises
    UnusableConfigurationError.
    """
    try:
        if path.endswith(".toml"):
            return parse_toml(text)
        if path.endswith((".json", ".jsonc")):
            return parse_json(_strip_json(text), dict[str, Any])
        return _parse_ini(text)
    except (msgspec.MsgspecError, ValueError) as error:
        what = f"Failed to parse {path}: {error}"
        raise UnusableConfigurationError(" ".join(what.split())) from error


def _parse_ini(text: str) -> dict[str, Any]:
    """Return the sections of an INI file; raises Unparsable."""
    parser = parse_ini(text, strict=True)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def find_table(data: dict[str, Any], table: str) -> dict[str, Any] | None:
    """Return the table with this dotted name, or None."""
    found: Any = data
    for part in filter(None, table.split(".")):
        found = found.get(part) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None


def find_values(data: Any, key: str) -> Iterator[str]:
    """Yield the texts at a dotted key, those of lists one by one; `*` is any one part."""
    part, _, rest = key.partition(".")
    if part == "*":
        inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        found = list(inside)
    else:
        found = [data[part]] if isinstance(data, dict) and part in data else []
    for value in found:
        yield from find_values(value, rest) if rest else _list_texts(value)


def _list_texts(value: Any) -> Iterator[str]:
    """Yield each text in a value; a text with commas or lines is a list, as in INI files."""
    match value:
        case str():
            yield from filter(None, (part.strip() for part in _SEPARATOR.split(value)))
        case dict():
            yield from (text for each in value.values() for text in _list_texts(each))
        case list():
            yield from (text for each in value for text in _list_texts(each))
        case None:
            return
        case _:
            yield str(value)


def _strip_json(text: str) -> bytes:
    """Remove comments, trailing commas and the byte order mark."""
    kept = _JSON_PARTS.sub(lambda found: found[0] if found[0][0] == '"' else "", text)
    return kept.removeprefix("\ufeff").encode("utf-8", "surrogateescape")
