"""The commands with which a project checks itself, read from its own files."""
