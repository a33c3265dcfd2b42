"""The values a workflow file is read into."""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class Until(StrEnum):
    """SETTLED: no item can change in another round. NO_MUST_FIX: no critical or major item is open.
    CONVERGED: as NO_MUST_FIX, or the loop churns.
    """

    SETTLED = "settled"
    NO_MUST_FIX = "no-must-fix"
    CONVERGED = "converged"


class OnLimit(StrEnum):
    ASK = "ask"
    GO_ON = "go-on"


class Do(Struct, frozen=True):
    """One step: a verb and its validated options."""

    verb: str
    options: Struct


class StopWhen(Struct, frozen=True):
    until: Until


class Repeat(Struct, frozen=True):
    """A loop of at most `rounds` rounds; the user may grant more, up to `hard_cap`."""

    rounds: int
    on_limit: OnLimit
    hard_cap: int
    steps: tuple[Do | StopWhen, ...]


class Workflow(Struct, frozen=True):
    name: str
    about: str
    steps: tuple[Do | Repeat, ...]
    text: str


def list_steps(workflow: Workflow) -> Iterator[Do]:
    """Yield the steps of a workflow in order, those of its loop too."""
    for step in workflow.steps:
        body = step.steps if isinstance(step, Repeat) else (step,)
        yield from (each for each in body if isinstance(each, Do))
