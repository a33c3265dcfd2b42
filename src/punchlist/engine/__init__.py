"""The engine: asks the step for actions, performs each at most once, records it, asks again."""

from punchlist.engine.engine import Engine, Limits, Watcher
from punchlist.engine.perform import Helpers, perform_action
from punchlist.engine.position import PendingDecision, PendingStep, find_position

__all__ = [
    "Engine",
    "Helpers",
    "Limits",
    "PendingDecision",
    "PendingStep",
    "Watcher",
    "find_position",
    "perform_action",
]
