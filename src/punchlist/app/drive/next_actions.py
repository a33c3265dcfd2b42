"""The next actions of a run, from its ledger alone; another process may drive it."""

from punchlist.engine.position import PendingStep, find_position
from punchlist.model.ledger.run import Run
from punchlist.steps import VERBS, Action
from punchlist.workflow.loader import parse_workflow


def find_due(run: Run) -> tuple[Action, ...]:
    """Return the present step's actions without an event: running, or about to."""
    if run.ended or run.waits:
        return ()
    started = run.started
    workflow = parse_workflow(started.workflow, started.workflow_name, f"run {run.id}")
    here = find_position(workflow, run)
    if not isinstance(here, PendingStep):
        return ()
    done = set(run.position.here) if run.position.place == here.place else set[str]()
    actions = VERBS[here.do.verb].step(run, here.do.options, here.place)
    return tuple(action for action in actions if action.key not in done)
