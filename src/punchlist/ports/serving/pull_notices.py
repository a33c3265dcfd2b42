"""The port to notices of forges about pull requests, kept until each is answered."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from punchlist.ports.state import Lease


class PullNotice(Struct, frozen=True, kw_only=True):
    """What a forge says of a pull request. `repository`: its name there; `head`: the commit that
    was pushed, '' if none was; `again`: a person asks for another run; `group`: the commit of a
    merge queue that waits for the verdict, or ''.
    """

    forge: str
    repository: str
    number: int
    head: str = ""
    again: bool = False
    group: str = ""


class KeptNotice(Struct, frozen=True, kw_only=True):
    """The newest notice about a pull request that is not answered yet. `place`: the id of its
    registered repository; `stamp` tells it from other notices about the same pull request.
    """

    place: str
    notice: PullNotice
    stamp: str
    age: float
    """Seconds since it came, by the store's clock."""
    tries: int = 0
    why: str = ""
    """Why the last try failed, or what is waited for."""
    asked: float | None = None
    """Seconds since a person asked for another run, if one did."""
    rest: float = 0
    """Seconds until it is tried; 0: it may be tried now."""
    over: bool = False
    """It cannot be answered, and is not tried again."""

    @property
    def key(self) -> tuple[str, int]:
        """What tells the pull request from others."""
        return self.place, self.notice.number


class Taken(StrEnum):
    """What became of a delivery."""

    KEPT = "kept"
    KNOWN = "known"
    FULL = "full"


class PullNotices(Protocol):
    """At most one notice for each pull request, in all servers of one state."""

    def put(self, place: str, notice: PullNotice, keys: Sequence[str], most: int) -> Taken:
        """Keep the notice in place of an older one, and the keys of its delivery, both or none.
        KNOWN: one of the keys was kept within a week; if that notice is over, it is tried again.
        FULL: `most` notices wait.
        """
        ...

    def list_all(self) -> tuple[KeptNotice, ...]:
        """Return them, the oldest first; those that are over are kept for a week."""
        ...

    def find(self, place: str, number: int) -> KeptNotice | None: ...

    def hold(self, place: str, number: int) -> Lease:
        """Take the right to answer a pull request; it ends with this process. Raise AlreadyRunning
        if another process has it.
        """
        ...

    def finish(self, kept: KeptNotice) -> bool:
        """Forget a notice that is answered; return False if a newer one has come meanwhile."""
        ...

    def put_off(self, kept: KeptNotice, why: str, seconds: float) -> bool:
        """Let it be tried again after so many seconds; return False if a newer one has come."""
        ...

    def give_up(self, kept: KeptNotice, why: str) -> bool:
        """Note why it cannot be answered; return False if a newer one has come meanwhile."""
        ...
