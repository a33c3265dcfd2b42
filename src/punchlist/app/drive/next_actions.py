"""What a run does next, told from its ledger alone: where another process drives it, this is what
that one is at.
"""

from punchlist.engine.position import At, position
from punchlist.model.ledger.run import Run
from punchlist.steps import VERBS, Action
from punchlist.workflow.loader import parse


def due(run: Run) -> tuple[Action, ...]:
    """The actions that the present step names and that came to no event yet: begun, or about to."""
    started = run.started
    if run.ended or run.waits:
        return ()
    here = position(parse(started.workflow, started.workflow_name, f"run {run.id}"), run)
    if not isinstance(here, At):
        return ()
    done = set(run.position.here) if run.position.place == here.place else set[str]()
    return tuple(
        action
        for action in VERBS[here.do.verb].step(run, here.do.options, here.place)
        if action.key not in done
    )
