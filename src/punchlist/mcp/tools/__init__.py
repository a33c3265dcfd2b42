"""The MCP tools, by purpose."""
