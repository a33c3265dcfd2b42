"""How an item shall be fixed: the planner's word, which a person may change before
anybody starts.
"""

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
    """`files` are those the fix will touch, as far as the planner knows: what shares files is not
    done side by side.
    """

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
