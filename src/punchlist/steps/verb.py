"""What a verb is: a pure step that names actions, and a table of performers that do them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from punchlist.model.ledger.events import AnyEvent
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World


class Action(Struct, frozen=True):
    """Something to be done once. `(run, place, key)` names it for good; `about` is for people."""

    key: str
    input: Struct
    about: str = ""
    whole: bool = False
    """Changes what others see: no limit keeps it from beginning or cuts it, so that the ledger
    always knows what came of it.
    """
    holds: frozenset[str] = frozenset()
    """What nobody else may have meanwhile, such as files: it begins when no running action holds
    any of it.
    """


class NoOptions(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """For verbs that leave nothing to choose."""


Step = Callable[[Run, Any, str], tuple[Action, ...]]
Performer = Callable[[Any, Run, World], Awaitable[AnyEvent]]


@dataclass(frozen=True)
class Verb:
    """`step(run, options, place)` names what may start now; nothing named and nothing running means
    the step is done.
    """

    about: str
    options: type[Struct]
    step: Step
    performers: Mapping[type[Struct], Performer]
    last: bool = False
    """Runs even after a limit was reached: what is left must still be reported."""


def missing(run: Run, *actions: Action) -> tuple[Action, ...]:
    """Those of the actions that have no event yet."""
    here = set(run.position.here)
    return tuple(action for action in actions if action.key not in here)
