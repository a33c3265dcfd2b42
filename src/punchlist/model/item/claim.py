"""What a fixer says of an item: a claim, recorded whole, believed only as far as we saw it."""

from enum import StrEnum

from msgspec import Struct


class Outcome(StrEnum):
    """FIXED and BLOCKED end the matter in the fixer's eyes, DEFERRED comes back, CONTESTED says
    there is nothing to fix.
    """

    FIXED = "fixed"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    CONTESTED = "contested"


class Report(Struct, frozen=True, omit_defaults=True):
    """The fixer's word on one item. `tests` are the files in which it says to have put a test that
    fails without the fix.
    """

    item: int
    outcome: Outcome
    why: str = ""
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
