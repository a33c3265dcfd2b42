"""JSON Schemas of what tools take and give, made of the structs they are read into and made of."""

from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]
_AT = "#/$defs/"


def taken(kind: type[Struct]) -> Schema:
    """Without references: not every client follows them."""
    whole = msgspec.json.schema(kind)
    schema = _inlined({"$ref": whole["$ref"]}, whole.get("$defs", {}))
    return {**schema, "properties": schema.get("properties", {})}


def given(kind: type[Struct]) -> Schema:
    """The object itself at the top, as the protocol wants it."""
    whole = msgspec.json.schema(kind)
    parts = dict(whole["$defs"])
    top = parts[whole["$ref"].removeprefix(_AT)]
    return {**top, "$defs": parts}


def _inlined(schema: Any, parts: dict[str, Any]) -> Any:
    match schema:
        case {"$ref": str(name), **rest}:
            return {**_inlined(parts[name.removeprefix(_AT)], parts), **rest}
        case dict():
            return {key: _inlined(value, parts) for key, value in schema.items()}
        case list():
            return [_inlined(each, parts) for each in schema]
        case _:
            return schema
