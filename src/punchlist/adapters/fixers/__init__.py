"""Fixers: turn a batch into a patch."""

from punchlist.adapters.fixers.tool_edits import EditFixer

__all__ = ["EditFixer"]
