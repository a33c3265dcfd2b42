"""Parsers of agents' answers."""
