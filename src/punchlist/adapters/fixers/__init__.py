"""Fixers: who turns a batch into a patch."""

from punchlist.adapters.fixers.tool_edits import Edits

__all__ = ["Edits"]
