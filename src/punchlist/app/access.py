"""Roles of clients other than the user."""

from punchlist.ports.serving.access import Role

__all__ = ["Role"]
