"""Checks, their verdicts, group testing, and protected files."""
