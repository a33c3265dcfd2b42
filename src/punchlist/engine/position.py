"""Where in the workflow a run is, by its ledger alone: resuming is the same as going on."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from punchlist.model.ledger.run import Run
from punchlist.steps import VERBS
from punchlist.workflow.language import Do, Repeat, StopWhen, Until, Workflow

MORE = "c"
"""The answer that grants one more round."""


class PendingStep(Struct, frozen=True):
    """A step that is not done yet."""

    place: str
    do: Do


class PendingDecision(Struct, frozen=True):
    """A loop that must decide about another round. `left`: rounds the user can still grant."""

    place: str
    round: int
    until: Until
    at_limit: bool
    may_ask: bool
    left: int


def find_position(workflow: Workflow, run: Run) -> PendingStep | PendingDecision | None:
    """Return the next step or decision; None at the end. After a limit only verbs remain that
    close the present round, and `last` ones.
    """
    if run.halted:
        ending = chain(_find_closing_steps(workflow, run), _find_last_steps(workflow, run))
        return next(ending, None)
    for index, step in enumerate(workflow.steps):
        here: PendingStep | PendingDecision | None
        if isinstance(step, Repeat):
            here = _find_in_loop(step, index, run)
        else:
            here = _find_step(str(index), step, run)
        if here is not None:
            return here
    return None


def _find_closing_steps(workflow: Workflow, run: Run) -> Iterator[PendingStep]:
    """Yield the steps that close the present round, from the present place on."""
    outer, *inner = run.position.place.split(".")
    if not outer.isdigit():
        return
    step = workflow.steps[int(outer)]
    steps: Sequence[Do | Repeat | StopWhen] = workflow.steps
    at, prefix = int(outer), ""
    if isinstance(step, Repeat) and inner:
        steps, at, prefix = step.steps, int(inner[-1]), f"{outer}.{inner[0]}."
    for index, each in enumerate(steps):
        if index >= at and isinstance(each, Do) and VERBS[each.verb].closes:
            here = _find_step(f"{prefix}{index}", each, run)
            yield from [here] if here else []


def _find_last_steps(workflow: Workflow, run: Run) -> Iterator[PendingStep]:
    for index, step in enumerate(workflow.steps):
        if isinstance(step, Do) and VERBS[step.verb].last:
            here = _find_step(str(index), step, run)
            yield from [here] if here else []


def _find_step(place: str, step: Do, run: Run) -> PendingStep | None:
    return None if place in run.position.done else PendingStep(place, step)


def _find_in_loop(loop: Repeat, index: int, run: Run) -> PendingStep | PendingDecision | None:
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
                    may_ask, left = loop.on_limit == "ask", loop.hard_cap - number
                    return PendingDecision(
                        place, number, step.until, number >= limit, may_ask, left
                    )
                if decision:
                    return None
            elif (here := _find_step(place, step, run)) is not None:
                return here
    return None
