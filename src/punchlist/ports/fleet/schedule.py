"""The port to what a fleet queues by the clock."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct


class Schedule(Struct, frozen=True, kw_only=True):
    """A run of all of a branch, queued whenever the cron expression says; the time zone '' is UTC.

    `settings` are those of the run, by name; `allow_checks` is what its user said about checks.
    """

    name: str
    cron: str
    timezone: str = ""
    repository: str
    identity: str = ""
    source: str
    branch: str
    label: str = ""
    workflow: str = ""
    settings: dict[str, str] = {}
    allow_checks: bool | None = None
    since: float = 0
    """When it was added: earlier times were not missed."""


class Tick(Struct, frozen=True):
    """A time at which a schedule is due."""

    schedule: Schedule
    due: str

    @property
    def key(self) -> str:
        """The key under which its run is claimed; no request can have it."""
        return f"tick\0{self.schedule.name}\0{self.due}"


class Schedules(Protocol):
    def add(self, schedule: Schedule) -> None:
        """Add a schedule. Raise UsageError if its name is taken, or its time cannot be read."""
        ...

    def remove(self, name: str) -> bool:
        """Return whether there was one."""
        ...

    def list_all(self) -> Sequence[Schedule]: ...

    def begin_missed(self, alive: Collection[str], now: datetime) -> Sequence[str]:
        """Begin each tick again whose worker is not alive any more, and for each schedule the last
        one that no worker was there for; return their names.
        """
        ...
