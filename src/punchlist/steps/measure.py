"""measure: run the project's checks on the reviewed commit; nothing is judged by the result."""

from punchlist.model.ledger.run import Run
from punchlist.steps.judging.baseline import Measure, allowed_checks, measure_baseline
from punchlist.steps.verb import Action, NoOptions, Verb, select_pending


def step(run: Run, options: NoOptions, place: str) -> tuple[Action, ...]:
    unmeasured = [check for check in allowed_checks(run) if check.name not in run.checks.baselines]
    return select_pending(
        run,
        *(Action(f"baseline {c.name}", Measure(c), f"{c.name} on the base") for c in unmeasured),
    )


VERB = Verb(
    "the checks say how the reviewed commit stands", NoOptions, step, {Measure: measure_baseline}
)
