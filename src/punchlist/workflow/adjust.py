"""Change a workflow for one run: how many rounds it has, and which score approves a fix."""

from punchlist.errors import UsageError
from punchlist.workflow.language import Do, Repeat, Workflow, list_steps
from punchlist.workflow.loader import load_text, parse_again, with_options, with_rounds

MOST_ROUNDS = 100
TOP_SCORE = 100
_WITHOUT_FIXES = frozenset({"review", "consolidate", "measure", "report"})
"""The verbs that are left of a workflow in which nothing is to be fixed."""


def adjust_workflow(
    workflow: Workflow, *, rounds: int | None = None, threshold: int | None = None
) -> Workflow:
    """Return the workflow, and its text that a run pins, with these values; None changes nothing.

    No rounds: nothing is fixed. Raise UsageError for a value out of range, or if the workflow has
    no rounds or no challenger.
    """
    if rounds is not None:
        workflow = _set_rounds(workflow, rounds)
    return workflow if threshold is None else _set_threshold(workflow, threshold)


def _set_rounds(workflow: Workflow, rounds: int) -> Workflow:
    if not 0 <= rounds <= MOST_ROUNDS:
        wrong = f"rounds: {rounds} is not a number from 0 to {MOST_ROUNDS}"
        raise UsageError(wrong, hint="0 reviews and fixes nothing")
    if not any(isinstance(step, Repeat) for step in workflow.steps):
        none = f"rounds: the workflow {workflow.name} has no rounds"
        raise UsageError(none, hint="leave it out, or choose a workflow with a `repeat`")
    return with_rounds(workflow, rounds) if rounds else _drop_fixing(workflow)


def _drop_fixing(workflow: Workflow) -> Workflow:
    """Return the workflow with the steps alone that review and report."""
    if not any(isinstance(step, Do) and step.verb == "review" for step in workflow.steps):
        inside = f"rounds: {workflow.name} reviews within its rounds, so 0 of them look at nothing"
        raise UsageError(inside, hint="ask for at least 1, or use `punchlist review`")
    data = load_text(workflow)
    data["steps"] = [
        step
        for step, element in zip(data["steps"], workflow.steps, strict=True)
        if isinstance(element, Do) and element.verb in _WITHOUT_FIXES
    ]
    return parse_again(workflow, data, "without rounds")


def _set_threshold(workflow: Workflow, threshold: int) -> Workflow:
    if not 1 <= threshold <= TOP_SCORE:
        wrong = f"threshold: {threshold} is not a score from 1 to {TOP_SCORE}"
        raise UsageError(wrong, hint="fixes that score less go back to the fixer")
    if not any(step.verb == "challenge" for step in list_steps(workflow)):
        none = f"threshold: no agent scores fixes in the workflow {workflow.name}"
        raise UsageError(none, hint="leave it out, or use `--workflow challenged`")
    return with_options(workflow, {"challenge": {"threshold": threshold}})


def drop_steps(workflow: Workflow, verb: str) -> Workflow:
    """Return the workflow, and its text that a run pins, without the outer steps of a verb."""
    if not any(isinstance(step, Do) and step.verb == verb for step in workflow.steps):
        return workflow
    data = load_text(workflow)
    steps = zip(data["steps"], workflow.steps, strict=True)
    left = [raw for raw, step in steps if not (isinstance(step, Do) and step.verb == verb)]
    return parse_again(workflow, {**data, "steps": left}, f"without {verb}")
