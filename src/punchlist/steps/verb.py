"""A verb: a pure step that names actions, and the performers that run them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Struct

from punchlist.model.ledger.events import AnyEvent
from punchlist.model.ledger.run import Run
from punchlist.ports.world import World


class Action(Struct, frozen=True):
    """An action that runs once, identified by `(run, place, key)`; `about` is shown to users."""

    key: str
    input: Struct
    about: str = ""
    whole: bool = False
    """Changes what users see: limits neither prevent nor cancel it, so that the ledger always has
    its result.
    """
    holds: frozenset[str] = frozenset()
    """What it needs for itself, such as files: it waits for running actions that hold any of it."""
    role: str = ""
    """The role of the agent that it asks, if it asks one."""


class VerbOptions(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """Options of a verb in a workflow file."""


class NoOptions(VerbOptions, frozen=True):
    """For verbs without options."""


Step = Callable[[Run, Any, str], tuple[Action, ...]]
Performer = Callable[[Any, Run, World], Awaitable[AnyEvent]]


class Verb(Struct, frozen=True):
    """`step(run, options, place)` returns the actions that may start now; with none, and none
    running, the step is done.
    """

    about: str
    options: type[Struct]
    step: Step
    performers: Mapping[type[Struct], Performer]
    last: bool = False
    """Runs even after a limit was reached: what is left must still be reported."""
    closes: bool = False
    """Is asked after a limit, too, if it was still to come in this round: it then ends what was
    seen already, and starts nothing long.
    """
    announced: bool = False
    """The ledger records when it starts: a stage of a run that readers follow."""
    portable: frozenset[type[Struct]] = frozenset()
    """Inputs of long actions that another worker of a fleet may perform: their performers only
    look at the run, and change nothing outside but the run's files.
    """


def select_pending(run: Run, *actions: Action) -> tuple[Action, ...]:
    """Return the actions that have no event yet."""
    here = set(run.position.here)
    return tuple(action for action in actions if action.key not in here)
