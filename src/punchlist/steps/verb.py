"""A verb: a pure step that names actions, and the performers that run them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from punchlist.model.ledger.events import AnyEvent
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World


class Action(Struct, frozen=True):
    """An action that runs once, identified by `(run, place, key)`; `about` is its
    text for users.
    """

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
    """For verbs without options."""


Step = Callable[[Run, Any, str], tuple[Action, ...]]
Performer = Callable[[Any, Run, World], Awaitable[AnyEvent]]


@dataclass(frozen=True)
class Verb:
    """`step(run, options, place)` returns the actions that may start now; the step is done when
    none is returned and none runs.
    """

    about: str
    options: type[Struct]
    step: Step
    performers: Mapping[type[Struct], Performer]
    last: bool = False
    """Runs even after a limit was reached: what is left must still be reported."""


def select_pending(run: Run, *actions: Action) -> tuple[Action, ...]:
    """Return the actions that have no event yet."""
    here = set(run.position.here)
    return tuple(action for action in actions if action.key not in here)
