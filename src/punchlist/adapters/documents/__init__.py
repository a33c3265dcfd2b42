"""Findings that people and tools hand over as files, in the formats they come in."""
