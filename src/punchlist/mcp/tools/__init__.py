"""The MCP tools, by purpose."""

from punchlist.mcp.tool import McpTool
from punchlist.mcp.tools import read, second_look, start, steer, tasks

TOOLS: tuple[McpTool, ...] = (
    *read.TOOLS,
    *start.TOOLS,
    *tasks.TOOLS,
    *second_look.TOOLS,
    *steer.TOOLS,
)
