"""The workflow language: a list of verbs, one loop form, one stop form."""

from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until, Workflow
from punchlist.workflow.loader import builtin_names, load_builtin, load_workflow

__all__ = [
    "Do",
    "OnLimit",
    "Repeat",
    "StopWhen",
    "Until",
    "Workflow",
    "builtin_names",
    "load_builtin",
    "load_workflow",
]
