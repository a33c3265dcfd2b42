"""What somebody who is not the user may do, in three steps."""

from enum import StrEnum


class Role(StrEnum):
    """Each may all that those before it may: look; start, answer, stop; register, apply, allow
    checks.
    """

    READ = "read"
    RUN = "run"
    ADMIN = "admin"

    def may(self, needed: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(needed)
