"""Coding agents behind one port: command lines, what they print, and what of it counts."""

from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings, RoleSettings

__all__ = ["AgentSettings", "AgentsSettings", "RoleSettings"]
