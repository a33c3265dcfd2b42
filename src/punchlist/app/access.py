"""Roles of clients other than the user."""

from enum import StrEnum


class Role(StrEnum):
    """Each role includes those before it. READ: look; RUN: start, answer, stop; ADMIN: register,
    apply, allow checks.
    """

    READ = "read"
    RUN = "run"
    ADMIN = "admin"

    def includes(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)
