"""Counts of what one child reached, and tries that were refused."""

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct

MOST_TOLD = 50
"""Different refused tries that are told one by one; more are only counted."""


class RefusedTry(Struct, frozen=True):
    target: str
    """HOST:PORT, or '' where the request could not be read."""
    why: str


@dataclass
class HostTraffic:
    connections: int = 0
    sent: int = 0
    received: int = 0


@dataclass
class EgressLog:
    """What the proxy did for one child."""

    tell: Callable[[RefusedTry], None] | None = None
    """Called at once with each refused try that is not like an earlier one."""
    reached: dict[str, HostTraffic] = field(default_factory=dict)
    refused: dict[RefusedTry, int] = field(default_factory=dict)
    refusals: int = 0

    def count_connection(self, target: str) -> HostTraffic:
        traffic = self.reached.setdefault(target, HostTraffic())
        traffic.connections += 1
        return traffic

    def count_refusal(self, target: str, why: str) -> None:
        self.refusals += 1
        refused = RefusedTry(target, why)
        if refused not in self.refused and len(self.refused) >= MOST_TOLD:
            return
        self.refused[refused] = self.refused.get(refused, 0) + 1
        if self.tell and self.refused[refused] == 1:
            self.tell(refused)
