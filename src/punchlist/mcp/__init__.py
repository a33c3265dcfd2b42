"""MCP server: punchlist for other agents."""
