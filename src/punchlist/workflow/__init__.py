"""A workflow is a short list of verbs, one loop form, one stop form: this is the whole language."""

from punchlist.workflow.language import Do, OnLimit, Repeat, StopWhen, Until, Workflow
from punchlist.workflow.loader import builtin_names, load, load_builtin

__all__ = [
    "Do",
    "OnLimit",
    "Repeat",
    "StopWhen",
    "Until",
    "Workflow",
    "builtin_names",
    "load",
    "load_builtin",
]
