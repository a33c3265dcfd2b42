"""What filing needs of a forge's issues."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

MARKER = "punchlist:fingerprint"


class Issue(Struct, frozen=True, kw_only=True):
    """`trusted`: written by us, a bot or a member; others may forge fingerprints. `declined`: a
    user closed it because nothing shall be done.
    """

    number: int
    url: str
    open: bool
    body: str = ""
    declined: bool = False
    trusted: bool = False


class IssueLookup(Struct, frozen=True):
    """Result of a lookup by number; `taken` without an issue: it was moved or deleted."""

    issue: Issue | None = None
    taken: bool = True


class IssueDraft(Struct, frozen=True):
    title: str
    body: str
    labels: tuple[str, ...]


class IssueChange(Struct, frozen=True, kw_only=True):
    """What an update sets; the rest stays. `declined`: closed because nothing shall be done."""

    open: bool
    declined: bool = False
    body: str | None = None


class IssuesApi(Protocol):
    """The issues of one repository. Methods raise RequestRefused, ResponseLost or Unavailable."""

    @property
    def name(self) -> str: ...

    @property
    def body_limit(self) -> int: ...

    async def list_labelled(self, labels: Sequence[str]) -> list[Issue]:
        """Return all issues with these labels (or all), open or closed, oldest first."""
        ...

    async def list_newest(self) -> list[Issue]: ...

    async def read_issue(self, number: int) -> IssueLookup:
        """Read an issue by number; never stale, unlike lists."""
        ...

    async def search_text(self, words: str) -> tuple[list[Issue], bool]:
        """Return issues with these words in the body, and whether that is all; the index lags."""
        ...

    async def create_issue(self, draft: IssueDraft) -> Issue:
        """Raises ResponseLost if it is unknown whether the issue was created."""
        ...

    async def update_issue(self, number: int, change: IssueChange) -> Issue: ...

    async def ensure_label(self, name: str) -> None:
        """Create a label if it is missing; errors are ignored."""
        ...
