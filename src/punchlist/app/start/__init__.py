"""Prepare a run: request, settings, roles, agents and adapters."""
