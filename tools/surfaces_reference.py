"""The reference pages of what other programs call: the HTTP API's endpoints and the tools for other
agents.
"""

import json
from collections.abc import Iterator
from typing import Any

from punchlist.mcp.schemas import input_schema
from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools import TOOLS
from punchlist.web.api import fleet, repositories, runs
from punchlist.web.api import read as looks
from punchlist.web.api.fix_sessions import routes as fixes
from punchlist.web.application import load_openapi

_ROUTES = (*repositories.ROUTES, *fleet.ROUTES, *runs.ROUTES, *looks.ROUTES, *fixes.ROUTES)
_HTTP = """\
# The HTTP API

Every endpoint of `punchlist serve`; [openapi.json](openapi.json) has their parameters, bodies and answers. How to use
them is told in [the guide](../guides/api.md). Each role may all that those before it may: `read`, `run`, `admin`.

| method | path | role | what |
|---|---|---|---|
"""
_MCP = """\
# Tools for other agents

What `punchlist mcp` offers, as clients see it. How to connect, and how the loop goes, is told in [the guide](../guides/mcp.md).
Each role may all that those before it may: `read`, `run`, `admin`.
"""


def endpoints() -> Iterator[str]:
    yield from _HTTP.splitlines()
    roles = {route.operation_id: route.opt["role"] for route in _ROUTES}
    for path, operations in load_openapi()["paths"].items():
        for method, operation in operations.items():
            yield (
                f"| {method.upper()} | `{path}` | {roles[operation['operationId']]} |"
                f" {operation['summary']} |"
            )


def tools() -> Iterator[str]:
    yield from _MCP.splitlines()
    for tool in TOOLS:
        yield from _tool(tool)


def _tool(tool: McpTool) -> Iterator[str]:
    marks = {
        "reads only": tool.reads,
        "may be called twice": tool.idempotent,
        "changes something of yours": tool.destructive,
    }
    said = ", ".join(mark for mark, holds in marks.items() if holds)
    schema = input_schema(tool.takes)
    yield from (
        "",
        f"## {tool.name}",
        "",
        tool.about,
        "",
        f"Role `{tool.role}`{'; ' + said if said else ''}.",
    )
    if schema["properties"]:
        yield from ("", "| argument | type | default |", "|---|---|---|")
    needed = schema.get("required", ())
    for name, kind in schema["properties"].items():
        default = "needed" if name in needed else f"`{_spelled(kind.get('default'))}`"
        yield f"| `{name}` | {_kind(kind)} | {default} |"


def _kind(schema: dict[str, Any]) -> str:
    match schema:
        case {"enum": [*values]}:
            return ", ".join(f"`{value}`" for value in values if value is not None)
        case {"anyOf": [*kinds]}:
            return " or ".join(_kind(kind) for kind in kinds if kind.get("type") != "null")
        case {"type": "array", "items": dict(inner)}:
            return f"list of {_kind(inner)}"
        case {"type": "object", "properties": dict(inner)} if inner:
            return f"object with {', '.join(f'`{name}`' for name in inner)}"
        case {"type": kind}:
            return {"string": "text", "integer": "whole number", "boolean": "`true`, `false`"}.get(
                str(kind), str(kind)
            )
        case _:
            return "anything"


def _spelled(value: object) -> str:
    return json.dumps(value)
