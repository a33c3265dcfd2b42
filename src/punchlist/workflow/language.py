"""The values a workflow file is read into."""

from enum import StrEnum

from msgspec import Struct


class Until(StrEnum):
    """SETTLED: no item can move by going round again. NO_MUST_FIX: nothing critical or major is
    open. CONVERGED: that, or the loop is seen to churn.
    """

    SETTLED = "settled"
    NO_MUST_FIX = "no-must-fix"
    CONVERGED = "converged"


class OnLimit(StrEnum):
    ASK = "ask"
    GO_ON = "go-on"


class Do(Struct, frozen=True):
    """One step: a verb and its options, already checked."""

    verb: str
    options: Struct


class StopWhen(Struct, frozen=True):
    until: Until


class Repeat(Struct, frozen=True):
    """A body that is gone round at most `rounds` times; a person may grant more,
    up to `hard_cap`.
    """

    rounds: int
    on_limit: OnLimit
    hard_cap: int
    steps: tuple[Do | StopWhen, ...]


class Workflow(Struct, frozen=True):
    name: str
    about: str
    steps: tuple[Do | Repeat, ...]
    text: str
