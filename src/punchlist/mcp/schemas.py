"""JSON Schemas of tool inputs and outputs, made from their structs."""

from typing import Any

import msgspec
from msgspec import Struct

Schema = dict[str, Any]
_AT = "#/$defs/"


def input_schema(kind: type[Struct]) -> Schema:
    """Return the schema with references inlined: not every client resolves them."""
    whole = msgspec.json.schema(kind)
    schema = _inline_refs({"$ref": whole["$ref"]}, whole.get("$defs", {}))
    return {**schema, "properties": schema.get("properties", {})}


def output_schema(kind: type[Struct]) -> Schema:
    """Return the schema with the object at the top, as MCP requires."""
    whole = msgspec.json.schema(kind)
    parts = dict(whole["$defs"])
    top = parts[whole["$ref"].removeprefix(_AT)]
    return {**top, "$defs": parts}


def _inline_refs(schema: Any, parts: dict[str, Any]) -> Any:
    match schema:
        case {"$ref": str(name), **rest}:
            return {**_inline_refs(parts[name.removeprefix(_AT)], parts), **rest}
        case dict():
            return {key: _inline_refs(value, parts) for key, value in schema.items()}
        case list():
            return [_inline_refs(each, parts) for each in schema]
        case _:
            return schema
