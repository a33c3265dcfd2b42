"""Where in the workflow a run is: computed from the ledger alone, so that resuming is the same as
going on.
"""

from collections.abc import Iterator

from msgspec import Struct

from punchlist.model.ledger.run import Run
from punchlist.steps import VERBS
from punchlist.workflow import Do, Repeat, StopWhen, Until, Workflow

MORE = "c"
"""The answer that grants one more round."""


class At(Struct, frozen=True):
    """A step that is not done yet."""

    place: str
    do: Do


class Decide(Struct, frozen=True):
    """A loop that must be told whether to go round again. `left`: how many rounds a person could
    still grant.
    """

    place: str
    round: int
    until: Until
    at_limit: bool
    may_ask: bool
    left: int


def position(workflow: Workflow, run: Run) -> At | Decide | None:
    """The next thing to do; None at the end. After a limit only what must run last is left."""
    if run.halted:
        return next(_still_due(workflow, run), None)
    for index, step in enumerate(workflow.steps):
        here = (
            _in_loop(step, index, run) if isinstance(step, Repeat) else _at(str(index), step, run)
        )
        if here is not None:
            return here
    return None


def _still_due(workflow: Workflow, run: Run) -> Iterator[At]:
    for index, step in enumerate(workflow.steps):
        if isinstance(step, Do) and VERBS[step.verb].last and str(index) not in run.position.done:
            yield At(str(index), step)


def _at(place: str, step: Do, run: Run) -> At | None:
    return None if place in run.position.done else At(place, step)


def _in_loop(loop: Repeat, index: int, run: Run) -> At | Decide | None:
    granted = sum(
        question.answer == MORE and question.place.startswith(f"{index}.")
        for question in run.asking.questions
    )
    limit = min(loop.rounds + granted, loop.hard_cap)
    for number in range(1, limit + 1):
        for body, step in enumerate(loop.steps):
            place = f"{index}.{number}.{body}"
            if isinstance(step, StopWhen):
                decision = run.position.decisions.get(place)
                if decision is None:
                    return Decide(
                        place,
                        number,
                        step.until,
                        number >= limit,
                        loop.on_limit == "ask",
                        loop.hard_cap - number,
                    )
                if decision:
                    return None
            elif (here := _at(place, step, run)) is not None:
                return here
    return None
