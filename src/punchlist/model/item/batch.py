"""A batch is the set of items one fixer call works on, giving one patch."""

from enum import StrEnum

from msgspec import Struct

from punchlist.model.finding.finding import Safety
from punchlist.model.patch.patch import Patch

AGENT = "agent"
"""The fixer of what no tool can fix."""


SUBJECT_FIELDS = frozenset({"round", "title", "story", "items"})
"""What a pattern of commit messages can name."""


class CommitGrouping(StrEnum):
    """Which fixes share a commit. AUTO: tools' fixes by rule, each fix of an agent alone. RULE: all
    by rule. ITEM: each alone. ROUND: all of one round. ONE: all together. MADE: each alone, also on
    lines that another changed. In all others fixes of the same lines share a commit.
    """

    AUTO = "auto"
    RULE = "rule"
    ITEM = "item"
    ROUND = "round"
    ONE = "one"
    MADE = "made"


class Batch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`level` sorts batches for group testing, likely harmless first; a tool's has a patch."""

    number: int
    items: tuple[int, ...]
    fixer: str
    title: str
    paths: tuple[str, ...]
    safety: Safety = Safety.SAFE
    protected: bool = False
    """Touches tests, checks or their configuration; allowed if the finding is about that file."""
    mixed: bool = False
    """Touches other files, too: no check could judge it, and it is refused."""
    patch: Patch | None = None
    grown: bool = False
    """The patch is more than the fix that the tool proposed: fixes that overlap, or those of what
    it would bring about, are in it.
    """

    @property
    def uses_agent(self) -> bool:
        return self.fixer == AGENT

    @property
    def level(self) -> tuple[bool, bool, int]:
        return (self.protected, self.uses_agent, list(Safety).index(self.safety))
