"""The engine asks the step what may start, does it at most once, writes it down, and asks again."""

from punchlist.engine.engine import Engine, Limits, Watcher
from punchlist.engine.position import At, Decide, position

__all__ = ["At", "Decide", "Engine", "Limits", "Watcher", "position"]
