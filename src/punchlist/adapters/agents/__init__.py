"""Coding agents behind the Agent port: command lines, output parsers, retry and journal."""

from punchlist.adapters.agents.settings import AgentSettings, AgentsSettings, RoleSettings

__all__ = ["AgentSettings", "AgentsSettings", "RoleSettings"]
