"""The port to trackers, where unresolved items are filed."""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.views.issue_text import IssueText


class Filing(Struct, frozen=True, kw_only=True):
    item: int
    ref: str = ""
    failed: str = ""


class Tracker(Protocol):
    """Where unresolved items are filed; get-or-create by the item's fingerprint."""

    @property
    def name(self) -> str: ...

    async def file(self, dossiers: Sequence[IssueText]) -> Sequence[Filing]: ...

    def close(self, fingerprints: Collection[str], by: str, why: str) -> int:
        """Close the issues of dismissed items; return how many. Raises ToolError."""
        ...

    def reopen(self, fingerprints: Collection[str]) -> int:
        """Undo `close`, with the same answer."""
        ...
