"""measure: run the project's checks on the reviewed commit; nothing is judged by the result."""

from punchlist.model.ledger.run import Run
from punchlist.steps.judging.baseline import Measure, measure_baseline, unmeasured_checks
from punchlist.steps.verb import Action, NoOptions, Verb, select_pending


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:
    return select_pending(run, *unmeasured_checks(run), *unmeasured_checks(run, gates=True))


VERB = Verb(
    "the checks say how the reviewed commit stands",
    NoOptions,
    step,
    {Measure: measure_baseline},
    announced=True,
)
