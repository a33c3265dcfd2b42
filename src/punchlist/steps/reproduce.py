"""reproduce: a private test for an item, before anybody fixes it."""

from msgspec import Struct

from punchlist.model.run import Run
from punchlist.steps.verb import Action, Verb


class Options(Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """For later."""


def step(run: Run, options: Options, place: str) -> tuple[Action, ...]:  # noqa: ARG001 - the signature of every step
    return ()


VERB = Verb("private tests are written", Options, step, {})
