"""Performs one action: what it finds, or why it failed, is an event. Helpers may do that, too."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from punchlist.errors import NO_ROOM, DiskFull, PunchlistError, StoreError
from punchlist.model.ledger import events as ev
from punchlist.model.ledger.run import Run
from punchlist.ports.notices import Record
from punchlist.ports.weaknesses import collect_weaknesses
from punchlist.ports.world import World
from punchlist.steps import VERBS, Action

_ROOM = "free some disk space, then resume"


class Helpers(Protocol):
    """Other workers that perform single actions of the run."""

    @property
    def width(self) -> int:
        """How many actions they could have at once, at this moment."""
        ...

    def subscribe(self, record: Record, wake: Callable[[], None]) -> None:
        """Name who records the events from the midst of their actions, and what to call when
        `width` has grown.
        """
        ...

    async def perform(self, verb: str, action: Action, run: Run) -> ev.AnyEvent | None:
        """Return the event of the action; None if it must be performed here. A cancelled call
        returns when no helper is at work on it any more.
        """
        ...


async def perform_action(verb: str, task: Struct, run: Run, world: World) -> ev.AnyEvent:
    """Return the event of the action. Raise StoreError if it could not be done to the end for a
    reason that has nothing to do with it, as on a full disk: an agent, a check or an analyzer that
    could not write there has failed, and is not to blame.
    """
    performer = VERBS[verb].performers[type(task)]
    try:
        with collect_weaknesses() as found:
            event = await performer(task, run, world)
        if not world.has_room():
            raise DiskFull("the disk is full: what was done meanwhile does not count", hint=_ROOM)
        return replace(event, weaknesses=tuple(sorted(found))) if found else event
    except StoreError:
        raise  # an action that cannot be recorded must not look done
    except PunchlistError as error:
        return ev.Failed(reason=str(error), hint=error.hint)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(str(error), hint=_ROOM) from error
        return ev.Failed(reason=str(error))
