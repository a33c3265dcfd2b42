"""The port to units: single actions of a run that other workers of a fleet do for its driver."""

from collections.abc import Collection, Sequence
from typing import Protocol

from msgspec import Struct

from punchlist.model.item.usage import Usage
from punchlist.model.ledger.events import AnyEvent
from punchlist.ports.fleet.queue import Room


class UnitTask(Struct, frozen=True, kw_only=True):
    """What is to be done: the action, by its verb and input (`kind` is its type), as the run is
    after its entry `seq`. `dollars` is the limit of the run; 0: none.
    """

    seq: int
    verb: str
    kind: str
    input: str
    dollars: float = 0


class UnitReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker tells of its unit so far; with `event` it is done."""

    event: AnyEvent | None = None
    why: str = ""
    """Why it was given back undone."""
    notices: tuple[AnyEvent, ...] = ()
    """Events from its midst, in their order."""
    dollars: float = 0
    """What its agents' calls spent."""
    unfinished: Usage = Usage()
    """What those used that have not ended, or were cut off."""


class Unit(Struct, frozen=True, kw_only=True):
    """A unit on offer. `driver`: the worker that drives the run, whose `version` it must have."""

    id: str
    run: str
    driver: str
    version: str
    agents: tuple[str, ...]
    task: UnitTask


class UnitState(Struct, frozen=True, kw_only=True):
    """`alive`: the worker that took it gives signs of life, and of this unit within a minute;
    `over`: that worker is through with it.
    """

    id: str
    worker: str
    alive: bool
    over: bool
    report: UnitReport


class Taker(Struct, frozen=True, kw_only=True):
    """A worker that takes units. `room`: how many runs and units there may be; `unfit`: runs that
    it cannot help.
    """

    worker: str
    labels: tuple[str, ...] = ()
    version: str
    room: Room = Room()
    unfit: Collection[str] = ()


class Units(Protocol):
    def offer(self, unit: Unit) -> None:
        """Offer a unit under the lease that this process has of its run."""
        ...

    def list_states(self, run: str) -> Sequence[UnitState]:
        """Return the units of a run, also those of its earlier drivers."""
        ...

    def count_idle(self, run: str, driver: Taker) -> int:
        """Return how many places for units of the run are free on workers other than its driver,
        as there is room by what that one knows.
        """
        ...

    def withdraw(self, unit: str) -> None:
        """Let the worker that has the unit end it."""
        ...

    def remove(self, unit: str, *, untaken: bool = False) -> bool:
        """Delete a unit, with `untaken` only if no worker has taken it; return whether it was."""
        ...

    def set_elsewhere(self, unit: str, dollars: float) -> None:
        """Note what the run has spent outside of the unit."""
        ...

    def take(self, taker: Taker) -> Unit | None:
        """Give the oldest unit to a worker, as there is room, if its driver lives; or None."""
        ...

    def beat(self, unit: str, worker: str, report: UnitReport | None) -> float | None:
        """Write the report, if there is one; return what the run has spent elsewhere, or None if
        the worker must end the unit: it was withdrawn, or its driver has lost its lease.
        """
        ...

    def finish(self, unit: str, worker: str, report: UnitReport) -> bool:
        """Write the last report; return whether the unit was still this worker's."""
        ...
