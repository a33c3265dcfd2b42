"""measure: the project's checks say how the reviewed commit stands; nothing is
judged against it.
"""

from punchlist.model.ledger.run import Run
from punchlist.steps.judging.baseline import Measure, allowed, measure
from punchlist.steps.verb import Action, NoOptions, Verb, missing


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:
    unmeasured = [check for check in allowed(run) if check.name not in run.checks.baselines]
    return missing(
        run,
        *(Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base") for c in unmeasured),
    )


VERB = Verb("the checks say how the reviewed commit stands", NoOptions, step, {Measure: measure})
