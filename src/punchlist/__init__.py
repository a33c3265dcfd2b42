"""Punchlist sees every review finding through to an end."""

__version__ = "0.1.0"
