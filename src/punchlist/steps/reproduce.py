"""reproduce: a private test for an item, before anybody fixes it."""

from punchlist.model.run import Run
from punchlist.steps.verb import Action, NoOptions, Verb


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    return ()


VERB = Verb("private tests are written", NoOptions, step, {})
