"""The planner's todo for an item, which the user may edit before fixing starts."""

from enum import StrEnum

from msgspec import Struct


class Approach(StrEnum):
    PATCH = "patch"
    REFACTOR = "refactor"
    REWRITE = "rewrite"


class Related(Struct, frozen=True):
    path: str
    reason: str = ""


class Todo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`files`: those the fix will touch, as far as known; todos that share files run one by one."""

    item: int
    approach: Approach = Approach.PATCH
    steps: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    patterns: tuple[str, ...] = ()
    snippet: str = ""
    lines_changed: int = 0
    risks: tuple[str, ...] = ()
    verification: str = ""
