"""A fixer's claim about an item; recorded as given, verified separately."""

from enum import StrEnum

from msgspec import Struct


class ClaimOutcome(StrEnum):
    """FIXED and BLOCKED are final for the fixer, DEFERRED comes back, CONTESTED: nothing to fix."""

    FIXED = "fixed"
    BLOCKED = "blocked"
    DEFERRED = "deferred"
    CONTESTED = "contested"


class ItemClaim(Struct, frozen=True, omit_defaults=True):
    """The fixer's claim about one item. `tests`: files with a test that fails without the fix.
    `confidence`: how sure the fixer says it is, 0 to 100; it decides nothing.
    """

    item: int
    outcome: ClaimOutcome
    why: str = ""
    files: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    confidence: int | None = None
