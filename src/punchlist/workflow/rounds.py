"""A workflow whose loops go round another number of times, for callers who have their own idea of
how often.
"""

import yaml

from punchlist.errors import WorkflowError
from punchlist.workflow.language import Repeat, Workflow
from punchlist.workflow.loader import parse


def with_rounds(workflow: Workflow, rounds: int) -> Workflow:
    """The same steps, every loop gone round at most so often. The text changes with it: it is what
    a run pins.
    """
    if rounds < 1:
        raise WorkflowError(
            f"{workflow.name}: {rounds} rounds prove nothing", hint="ask for at least one"
        )
    loops = [step for step in workflow.steps if isinstance(step, Repeat)]
    if all(loop.rounds == rounds for loop in loops):
        return workflow
    data = yaml.safe_load(workflow.text)
    for step in data["steps"]:
        if isinstance(step, dict) and "repeat" in step:
            loop = step["repeat"]
            loop["rounds"] = rounds
            loop["hard_cap"] = max(rounds, loop.get("hard_cap", 0))
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1000)
    return parse(text, workflow.name, f"{workflow.name} with {rounds} rounds")
